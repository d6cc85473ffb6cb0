/** The texts of the element by language. */
import type { RequestKind } from './link.ts'
import type { RequestStatus } from './status.ts'

/** A status of the request, or the reason for which there is none. */
export type ShownStatus = RequestStatus | 'preparing' | 'invalid'

export interface Texts extends Readonly<Record<Exclude<ShownStatus, 'done' | 'failed'> | 'lost', string>> {
  readonly scan: string
  readonly code: string
  readonly open: string
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
    code: 'QR code to scan with your wallet',
    open: 'Open your wallet',
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
    invalid: 'This request cannot be shown',
  },
  de: {
    scan: 'Scannen Sie diesen Code mit Ihrer Wallet',
    code: 'QR-Code zum Scannen mit Ihrer Wallet',
    open: 'Wallet öffnen',
    thisDevice: 'Meine Wallet ist auf diesem Gerät',
    anotherDevice: 'Meine Wallet ist auf einem anderen Gerät',
    again: 'Erneut versuchen',
    left: 'noch 0:00',
    preparing: 'Einen Moment …',
    waiting: 'Ihre Wallet wird erwartet',
    opened: 'Machen Sie in Ihrer Wallet weiter',
    done: { presentation: 'Fertig: Ihr Nachweis wurde angenommen', offer: 'Fertig: Der Nachweis ist in Ihrer Wallet' },
    failed: { presentation: 'Ihr Nachweis wurde nicht angenommen', offer: 'Sie haben den Nachweis nicht erhalten' },
    declined: 'Sie haben in Ihrer Wallet abgelehnt',
    expired: 'Die Zeit ist abgelaufen',
    lost: 'Keine Verbindung, neuer Versuch …',
    invalid: 'Diese Anfrage kann nicht angezeigt werden',
  },
  fr: {
    scan: 'Scannez ce code avec votre portefeuille',
    code: 'Code QR à scanner avec votre portefeuille',
    open: 'Ouvrir le portefeuille',
    thisDevice: 'Mon portefeuille est sur cet appareil',
    anotherDevice: 'Mon portefeuille est sur un autre appareil',
    again: 'Réessayer',
    left: 'encore 0:00',
    preparing: 'Un instant…',
    waiting: 'En attente de votre portefeuille',
    opened: 'Continuez dans votre portefeuille',
    done: {
      presentation: 'Terminé : votre attestation est acceptée',
      offer: 'Terminé : l’attestation est dans votre portefeuille',
    },
    failed: {
      presentation: 'Votre attestation n’a pas été acceptée',
      offer: 'Vous n’avez pas reçu l’attestation',
    },
    declined: 'Vous avez refusé dans votre portefeuille',
    expired: 'Le délai est écoulé',
    lost: 'Pas de connexion, nouvel essai…',
    invalid: 'Cette demande ne peut pas être affichée',
  },
  es: {
    scan: 'Escanee este código con su cartera',
    code: 'Código QR para escanear con su cartera',
    open: 'Abrir la cartera',
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
    declined: 'Ha rechazado la solicitud en su cartera',
    expired: 'El tiempo ha terminado',
    lost: 'Sin conexión, nuevo intento…',
    invalid: 'No se puede mostrar esta solicitud',
  },
  da: {
    scan: 'Scan koden med din wallet',
    code: 'QR-kode til at scanne med din wallet',
    open: 'Åbn din wallet',
    thisDevice: 'Min wallet er på denne enhed',
    anotherDevice: 'Min wallet er på en anden enhed',
    again: 'Prøv igen',
    left: '0:00 tilbage',
    preparing: 'Et øjeblik …',
    waiting: 'Venter på din wallet',
    opened: 'Fortsæt i din wallet',
    done: { presentation: 'Færdig: dit bevis er godkendt', offer: 'Færdig: beviset er i din wallet' },
    failed: { presentation: 'Dit bevis blev ikke godkendt', offer: 'Du har ikke modtaget beviset' },
    declined: 'Du afviste i din wallet',
    expired: 'Tiden er udløbet',
    lost: 'Ingen forbindelse, prøver igen …',
    invalid: 'Denne anmodning kan ikke vises',
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
