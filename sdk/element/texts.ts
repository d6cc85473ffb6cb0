/** The texts of the element by language. Their words are those of the sign-in pages of an issuer. */
import type { RequestKind } from './link.ts'
import type { RequestStatus } from './status.ts'

/** A status of the request, or a text that a person sees in its place. */
export type ShownStatus = RequestStatus | 'preparing' | 'stopped' | 'invalid' | 'unsupported'

export interface Texts extends Readonly<Record<Exclude<ShownStatus, 'done' | 'failed'> | 'lost', string>> {
  readonly scan: string
  readonly code: string
  readonly open: string
  readonly ask: string
  readonly anotherWay: string
  readonly thisDevice: string
  readonly anotherDevice: string
  readonly again: string
  /** The remaining time stands in the place of `0:00`. */
  readonly left: string
  readonly done: Readonly<Record<RequestKind, string>>
  readonly failed: Readonly<Record<RequestKind, string>>
}

const TEXTS: Readonly<Record<string, Texts>> = {
  en: {
    scan: 'Scan this code with your wallet',
    code: 'QR code for your wallet',
    open: 'Open your wallet',
    ask: 'Use a wallet',
    anotherWay: 'Another way',
    thisDevice: 'My wallet is on this device',
    anotherDevice: 'My wallet is on another device',
    again: 'Try again',
    left: '0:00 left',
    preparing: 'One moment …',
    waiting: 'Waiting for your wallet',
    opened: 'Continue in your wallet',
    done: { presentation: 'Done: your credential was accepted', offer: 'Done: the credential is in your wallet' },
    failed: { presentation: 'Your credential was not accepted', offer: 'You have not received the credential' },
    declined: 'You declined in your wallet',
    expired: 'The time has run out',
    lost: 'No connection, trying again …',
    stopped: 'That was not completed. You can try again.',
    invalid: 'This request cannot be shown. Reload the page.',
    unsupported: 'This browser cannot use a wallet. Open the page in another browser.',
  },
  de: {
    scan: 'Scannen Sie diesen Code mit Ihrer Wallet',
    code: 'QR-Code für Ihre Wallet',
    open: 'Wallet öffnen',
    ask: 'Wallet verwenden',
    anotherWay: 'Ein anderer Weg',
    thisDevice: 'Meine Wallet ist auf diesem Gerät',
    anotherDevice: 'Meine Wallet ist auf einem anderen Gerät',
    again: 'Erneut versuchen',
    left: 'noch 0:00',
    preparing: 'Einen Moment bitte …',
    waiting: 'Warten auf Ihre Wallet',
    opened: 'Fahren Sie in Ihrer Wallet fort',
    done: { presentation: 'Fertig: Ihr Nachweis wurde akzeptiert', offer: 'Fertig: Der Nachweis ist in Ihrer Wallet' },
    failed: { presentation: 'Ihr Nachweis wurde nicht akzeptiert', offer: 'Sie haben den Nachweis nicht erhalten' },
    declined: 'Sie haben den Vorgang in Ihrer Wallet abgelehnt',
    expired: 'Die Zeit ist abgelaufen',
    lost: 'Keine Verbindung, neuer Versuch …',
    stopped: 'Das wurde nicht abgeschlossen. Sie können es erneut versuchen.',
    invalid: 'Diese Anfrage kann nicht angezeigt werden. Laden Sie die Seite neu.',
    unsupported: 'Dieser Browser kann keine Wallet verwenden. Öffnen Sie die Seite in einem anderen Browser.',
  },
  fr: {
    scan: 'Scannez ce code avec votre portefeuille numérique',
    code: 'QR code pour votre portefeuille',
    open: 'Ouvrir votre portefeuille numérique',
    ask: 'Utiliser un portefeuille numérique',
    anotherWay: 'Une autre méthode',
    thisDevice: 'Mon portefeuille est sur cet appareil',
    anotherDevice: 'Mon portefeuille est sur un autre appareil',
    again: 'Réessayer',
    left: 'encore 0:00',
    preparing: 'Un instant…',
    waiting: 'En attente de votre portefeuille',
    opened: 'Continuez dans votre portefeuille',
    done: {
      presentation: 'C’est fait\u00a0: votre attestation a été acceptée',
      offer: 'C’est fait\u00a0: l’attestation est dans votre portefeuille',
    },
    failed: {
      presentation: 'Votre attestation n’a pas été acceptée',
      offer: 'Vous n’avez pas reçu l’attestation',
    },
    declined: 'Vous avez refusé l’opération dans votre portefeuille',
    expired: 'Le délai a expiré',
    lost: 'Pas de connexion, nouvelle tentative…',
    stopped: 'L’opération n’a pas abouti. Vous pouvez réessayer.',
    invalid: 'Cette demande ne peut pas être affichée. Rechargez la page.',
    unsupported: 'Ce navigateur ne peut pas utiliser de portefeuille. Ouvrez la page dans un autre navigateur.',
  },
  es: {
    scan: 'Escanee este código con su cartera digital',
    code: 'Código QR para su cartera',
    open: 'Abrir su cartera digital',
    ask: 'Usar una cartera digital',
    anotherWay: 'Otra forma',
    thisDevice: 'Mi cartera está en este dispositivo',
    anotherDevice: 'Mi cartera está en otro dispositivo',
    again: 'Intentar de nuevo',
    left: 'quedan 0:00',
    preparing: 'Un momento…',
    waiting: 'Esperando a su cartera',
    opened: 'Continúe en su cartera',
    done: {
      presentation: 'Listo: se ha aceptado su credencial',
      offer: 'Listo: la credencial está en su cartera',
    },
    failed: { presentation: 'No se ha aceptado su credencial', offer: 'No ha recibido la credencial' },
    declined: 'Ha rechazado la operación en su cartera',
    expired: 'Se ha agotado el tiempo',
    lost: 'Sin conexión, intentándolo de nuevo…',
    stopped: 'No se ha completado. Puede intentarlo de nuevo.',
    invalid: 'No se puede mostrar esta solicitud. Vuelva a cargar la página.',
    unsupported: 'Este navegador no puede usar una cartera. Abra la página en otro navegador.',
  },
  da: {
    scan: 'Scan koden med din digitale tegnebog',
    code: 'QR-kode til din tegnebog',
    open: 'Åbn din digitale tegnebog',
    ask: 'Brug en digital tegnebog',
    anotherWay: 'En anden måde',
    thisDevice: 'Min tegnebog er på denne enhed',
    anotherDevice: 'Min tegnebog er på en anden enhed',
    again: 'Prøv igen',
    left: '0:00 tilbage',
    preparing: 'Et øjeblik …',
    waiting: 'Venter på din tegnebog',
    opened: 'Fortsæt i din tegnebog',
    done: { presentation: 'Færdig: dit bevis er godkendt', offer: 'Færdig: beviset er i din tegnebog' },
    failed: { presentation: 'Dit bevis blev ikke godkendt', offer: 'Du har ikke modtaget beviset' },
    declined: 'Du sagde nej i din tegnebog',
    expired: 'Tiden er udløbet',
    lost: 'Ingen forbindelse, prøver igen …',
    stopped: 'Det blev ikke fuldført. Du kan prøve igen.',
    invalid: 'Anmodningen kan ikke vises. Genindlæs siden.',
    unsupported: 'Denne browser kan ikke bruge en tegnebog. Åbn siden i en anden browser.',
  },
}

/**
 * Returns the texts for a language tag such as `de-AT`, and the language that they are in: English where there are
 * none.
 */
export function textsOf(tag: string): { readonly language: string; readonly texts: Texts } {
  const language = tag.toLowerCase().split('-')[0] ?? ''
  const texts = Object.hasOwn(TEXTS, language) ? TEXTS[language] : undefined
  return texts === undefined ? { language: 'en', texts: TEXTS.en as Texts } : { language, texts }
}
