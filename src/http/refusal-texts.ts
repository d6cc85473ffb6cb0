/** The texts of the page of a refusal by language. */
import type { PageLanguage } from './page-language.ts'

interface RefusalTexts {
  readonly title: string
  readonly beginAnew: string
  /** The advice in place of `beginAnew` while the service, or one that it asks, is too busy or away. */
  readonly beginLater: string
  readonly tellIssuer: string
}

export const REFUSAL_TEXTS: Readonly<Record<PageLanguage, RefusalTexts>> = {
  en: {
    title: 'This did not work',
    beginAnew: 'Go back to your wallet and start again there.',
    beginLater: 'The service cannot answer at the moment. Wait a few minutes, then start again in your wallet.',
    tellIssuer:
      'If this page appears again, contact the organization that issues the credential, and give it the line below.',
  },
  de: {
    title: 'Das hat nicht funktioniert',
    beginAnew: 'Gehen Sie zurück zu Ihrer Wallet und beginnen Sie dort von vorn.',
    beginLater:
      'Der Dienst kann im Moment nicht antworten. Warten Sie einige Minuten und beginnen Sie dann in Ihrer Wallet von vorn.',
    tellIssuer:
      'Wenn diese Seite wieder erscheint, wenden Sie sich an die Stelle, die den Nachweis ausstellt, und nennen Sie ihr die Zeile unten.',
  },
  fr: {
    title: 'Cela n’a pas fonctionné',
    beginAnew: 'Revenez à votre portefeuille numérique et recommencez.',
    beginLater:
      'Le service ne peut pas répondre pour le moment. Patientez quelques minutes, puis recommencez dans votre portefeuille numérique.',
    tellIssuer:
      'Si cette page réapparaît, contactez l’organisme qui délivre l’attestation et communiquez-lui la ligne suivante.',
  },
  es: {
    title: 'No ha funcionado',
    beginAnew: 'Vuelva a su cartera digital y empiece de nuevo.',
    beginLater:
      'El servicio no puede responder en este momento. Espere unos minutos y empiece de nuevo en su cartera digital.',
    tellIssuer:
      'Si esta página vuelve a aparecer, póngase en contacto con la entidad que emite la credencial y comuníquele la línea de abajo.',
  },
  da: {
    title: 'Det lykkedes ikke',
    beginAnew: 'Gå tilbage til din digitale tegnebog, og begynd forfra der.',
    beginLater: 'Tjenesten kan ikke svare lige nu. Vent nogle minutter, og begynd så forfra i din digitale tegnebog.',
    tellIssuer: 'Hvis denne side kommer igen, kan du kontakte udstederen af beviset og oplyse teksten herunder.',
  },
}
