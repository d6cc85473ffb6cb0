/** The texts of the page of a refusal by language. */
import type { PageLanguage } from './page-language.ts'

interface RefusalTexts {
  readonly title: string
  readonly advice: string
}

export const REFUSAL_TEXTS: Readonly<Record<PageLanguage, RefusalTexts>> = {
  en: {
    title: 'This did not work',
    advice:
      'Go back to your wallet and begin anew there. If this comes again, tell whoever issues the credential the line below.',
  },
  de: {
    title: 'Das hat nicht geklappt',
    advice:
      'Gehen Sie zurück zu Ihrer Wallet, und beginnen Sie dort von vorn. Kommt diese Seite wieder, so nennen Sie der Stelle, die den Nachweis ausstellt, die Zeile hier unten.',
  },
  fr: {
    title: 'Cela n’a pas fonctionné',
    advice:
      'Revenez à votre portefeuille et recommencez. Si cette page réapparaît, communiquez la ligne ci-dessous à l’émetteur de l’attestation.',
  },
  es: {
    title: 'No ha funcionado',
    advice:
      'Vuelva a su cartera y empiece de nuevo. Si esta página vuelve a aparecer, comunique la línea de abajo a quien emite la credencial.',
  },
  da: {
    title: 'Det lykkedes ikke',
    advice:
      'Gå tilbage til din wallet, og begynd forfra der. Hvis siden kommer igen, så giv linjen herunder til den, der udsteder beviset.',
  },
}
