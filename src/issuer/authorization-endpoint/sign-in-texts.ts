/**
 * The texts of the sign-in pages by language. The values that a text takes are HTML, and a place stands behind a colon
 * where the language would change its form. The words for wallet and credential are those of each country's own wallet
 * or law: Wallet and Nachweis, portefeuille numérique and attestation, cartera digital and credencial, tegnebog and
 * bevis. A request may be about several credentials, so that the texts of its page have no number.
 */
import type { PageLanguage } from '../../http/page-language.ts'

export interface SignInTexts {
  /** The page before a wallet that answers a trusted offer. */
  readonly walletTitle: string
  readonly leadsTo: (place: string) => string
  readonly afterOffer: string
  readonly goOn: string
  readonly wallet: (name: string, address: string) => string
  /** The first page of a sign-in. */
  readonly signInTitle: (issuer: string, credentials: string) => string
  readonly asks: (place: string) => string
  readonly afterRequest: string
  readonly signInAt: (provider: string) => string
  readonly show: string
  readonly stop: string
  /** The page with the link that opens the wallet. */
  readonly openHere: string
  readonly beginAnew: string
  readonly open: string
  readonly openOther: string
  /** The page for a person who gets no credential. */
  readonly noneTitle: string
  readonly noneForYou: string
  readonly stopped: string
  readonly follow: string
  readonly back: string
  readonly app: (scheme: string) => string
  readonly program: (host: string) => string
}

export const SIGN_IN_TEXTS: Readonly<Record<PageLanguage, SignInTexts>> = {
  en: {
    walletTitle: 'Back to your wallet',
    leadsTo: (place) => `The link below leads to ${place}.`,
    afterOffer:
      'Continue only if you have just accepted an offer in your own wallet, and this is that wallet. If somebody sent you here by a link or a message, close this page: that person would receive your data.',
    goOn: 'Continue to the wallet',
    wallet: (name, address) => `The wallet calls itself ${name}; its address is ${address}`,
    signInTitle: (issuer, credentials) => `${issuer}: ${credentials} for your wallet`,
    asks: (place) => `A wallet has made this request. Your data will be sent to ${place}.`,
    afterRequest:
      'Continue only if you have just made this request in your own wallet, and this is that wallet. If somebody sent you here by a link or a message, cancel: that person would receive your data.',
    signInAt: (provider) => `Sign in at ${provider}`,
    show: 'Show a credential from your wallet',
    stop: 'Cancel',
    openHere:
      'Open your wallet on this device. It shows which data is requested, and then brings you back to this browser.',
    beginAnew: 'If that does not work, start again in the wallet in which you requested the credential.',
    open: 'Open the wallet',
    openOther: 'Open another wallet',
    noneTitle: 'No credential was issued',
    noneForYou:
      'You cannot receive this credential. If you think that this is wrong, contact the organization that issues it, and give it the line in small print below.',
    stopped: 'You did not continue, so no credential was issued. You can close this page.',
    follow: 'Use it only if this is your own wallet.',
    back: 'Back to the wallet',
    app: (scheme) => `the app ${scheme} on this device`,
    program: (host) => `a program on this device (${host})`,
  },
  de: {
    walletTitle: 'Zurück zu Ihrer Wallet',
    leadsTo: (place) => `Der Link unten führt hierhin: ${place}.`,
    afterOffer:
      'Fahren Sie nur fort, wenn Sie gerade in Ihrer eigenen Wallet ein Angebot angenommen haben und es sich um diese Wallet handelt. Wenn jemand Sie mit einem Link oder einer Nachricht auf diese Seite geführt hat, schließen Sie die Seite. Sonst erhält diese Person Ihre Daten.',
    goOn: 'Weiter zur Wallet',
    wallet: (name, address) => `Die Wallet nennt sich ${name}; ihre Adresse ist ${address}`,
    signInTitle: (issuer, credentials) => `${issuer}: ${credentials} für Ihre Wallet`,
    asks: (place) => `Eine Wallet hat dies angefordert. Ihre Daten werden hierhin gesendet: ${place}.`,
    afterRequest:
      'Fahren Sie nur fort, wenn Sie dies gerade in Ihrer eigenen Wallet angefordert haben und es sich um diese Wallet handelt. Wenn jemand Sie mit einem Link oder einer Nachricht auf diese Seite geführt hat, brechen Sie ab. Sonst erhält diese Person Ihre Daten.',
    signInAt: (provider) => `Anmelden bei ${provider}`,
    show: 'Nachweis aus Ihrer Wallet vorzeigen',
    stop: 'Abbrechen',
    openHere:
      'Öffnen Sie Ihre Wallet auf diesem Gerät. Sie zeigt Ihnen, welche Daten angefragt werden, und führt Sie danach zu diesem Browser zurück.',
    beginAnew:
      'Wenn das nicht gelingt, beginnen Sie von vorn in der Wallet, in der Sie den Nachweis angefordert haben.',
    open: 'Wallet öffnen',
    openOther: 'Andere Wallet öffnen',
    noneTitle: 'Es wurde kein Nachweis ausgestellt',
    noneForYou:
      'Sie können diesen Nachweis nicht erhalten. Wenn Sie das für einen Irrtum halten, wenden Sie sich an die Stelle, die den Nachweis ausstellt, und nennen Sie ihr die klein gedruckte Zeile unten.',
    stopped:
      'Sie haben den Vorgang nicht fortgesetzt. Deshalb wurde kein Nachweis ausgestellt. Sie können diese Seite schließen.',
    follow: 'Benutzen Sie ihn nur, wenn es sich um Ihre eigene Wallet handelt.',
    back: 'Zurück zur Wallet',
    app: (scheme) => `die App ${scheme} auf diesem Gerät`,
    program: (host) => `ein Programm auf diesem Gerät (${host})`,
  },
  fr: {
    walletTitle: 'Retour à votre portefeuille numérique',
    leadsTo: (place) => `Le lien suivant mène ici\u00a0: ${place}.`,
    afterOffer:
      'Ne continuez que si vous venez d’accepter une offre dans votre propre portefeuille et s’il s’agit bien de ce portefeuille. Si une personne vous a envoyé ici par un lien ou un message, fermez cette page. Sinon, elle recevra vos données.',
    goOn: 'Continuer vers le portefeuille',
    wallet: (name, address) => `Le portefeuille se présente sous le nom ${name}\u00a0; son adresse est ${address}`,
    signInTitle: (issuer, credentials) => `${issuer}\u00a0: ${credentials} pour votre portefeuille numérique`,
    asks: (place) => `Un portefeuille a fait cette demande. Vos données seront envoyées ici\u00a0: ${place}.`,
    afterRequest:
      'Ne continuez que si vous venez de faire cette demande dans votre propre portefeuille et s’il s’agit bien de ce portefeuille. Si une personne vous a envoyé ici par un lien ou un message, annulez. Sinon, elle recevra vos données.',
    signInAt: (provider) => `Se connecter avec ${provider}`,
    show: 'Présenter une attestation de votre portefeuille',
    stop: 'Annuler',
    openHere:
      'Ouvrez votre portefeuille numérique sur cet appareil. Il vous indique les données demandées, puis vous ramène vers ce navigateur.',
    beginAnew: 'Si cela ne fonctionne pas, recommencez dans le portefeuille où vous avez demandé l’attestation.',
    open: 'Ouvrir le portefeuille',
    openOther: 'Ouvrir un autre portefeuille',
    noneTitle: 'Aucune attestation n’a été délivrée',
    noneForYou:
      'Vous ne pouvez pas recevoir cette attestation. Si vous pensez qu’il s’agit d’une erreur, contactez l’organisme qui la délivre et communiquez-lui la ligne en petits caractères plus bas.',
    stopped: 'Vous n’avez pas continué. Aucune attestation n’a donc été délivrée. Vous pouvez fermer cette page.',
    follow: 'Ne l’utilisez que s’il s’agit de votre propre portefeuille.',
    back: 'Retour au portefeuille',
    app: (scheme) => `l’application ${scheme} sur cet appareil`,
    program: (host) => `un programme sur cet appareil (${host})`,
  },
  es: {
    walletTitle: 'Volver a su cartera digital',
    leadsTo: (place) => `El siguiente enlace lleva aquí: ${place}.`,
    afterOffer:
      'Continúe solo si acaba de aceptar una oferta en su propia cartera y se trata de esa cartera. Si ha llegado aquí por un enlace o un mensaje de otra persona, cierre esta página. De lo contrario, esa persona recibirá sus datos.',
    goOn: 'Continuar en la cartera',
    wallet: (name, address) => `La cartera se identifica como ${name}; su dirección es ${address}`,
    signInTitle: (issuer, credentials) => `${issuer}: ${credentials} para su cartera digital`,
    asks: (place) => `Una cartera ha hecho esta solicitud. Sus datos se enviarán aquí: ${place}.`,
    afterRequest:
      'Continúe solo si acaba de hacer esta solicitud en su propia cartera y se trata de esa cartera. Si ha llegado aquí por un enlace o un mensaje de otra persona, cancele la solicitud. De lo contrario, esa persona recibirá sus datos.',
    signInAt: (provider) => `Iniciar sesión en ${provider}`,
    show: 'Presentar una credencial de su cartera',
    stop: 'Cancelar',
    openHere:
      'Abra su cartera digital en este dispositivo. En ella verá qué datos se solicitan y después volverá a este navegador.',
    beginAnew: 'Si no funciona, empiece de nuevo en la cartera en la que solicitó la credencial.',
    open: 'Abrir la cartera',
    openOther: 'Abrir otra cartera',
    noneTitle: 'No se ha emitido ninguna credencial',
    noneForYou:
      'No puede recibir esta credencial. Si cree que se trata de un error, póngase en contacto con la entidad que la emite y comuníquele la línea en letra pequeña de abajo.',
    stopped: 'No ha continuado, por lo que no se ha emitido ninguna credencial. Puede cerrar esta página.',
    follow: 'Utilícelo solo si se trata de su propia cartera.',
    back: 'Volver a la cartera',
    app: (scheme) => `la aplicación ${scheme} en este dispositivo`,
    program: (host) => `un programa en este dispositivo (${host})`,
  },
  da: {
    walletTitle: 'Tilbage til din digitale tegnebog',
    leadsTo: (place) => `Linket herunder fører hertil: ${place}.`,
    afterOffer:
      'Fortsæt kun, hvis du lige har taget imod et tilbud i din egen tegnebog, og det er denne tegnebog. Hvis nogen har sendt dig hertil med et link eller en besked, skal du lukke siden. Ellers får den person dine oplysninger.',
    goOn: 'Fortsæt til tegnebogen',
    wallet: (name, address) => `Tegnebogen kalder sig ${name}; dens adresse er ${address}`,
    signInTitle: (issuer, credentials) => `${issuer}: ${credentials} til din digitale tegnebog`,
    asks: (place) => `En tegnebog har bedt om dette. Dine oplysninger sendes hertil: ${place}.`,
    afterRequest:
      'Fortsæt kun, hvis du lige har bedt om dette i din egen tegnebog, og det er denne tegnebog. Hvis nogen har sendt dig hertil med et link eller en besked, skal du annullere. Ellers får den person dine oplysninger.',
    signInAt: (provider) => `Log på hos ${provider}`,
    show: 'Vis et bevis fra din tegnebog',
    stop: 'Annuller',
    openHere:
      'Åbn din digitale tegnebog på denne enhed. Den viser, hvilke oplysninger der bliver bedt om, og fører dig derefter tilbage til denne browser.',
    beginAnew: 'Hvis det ikke lykkes, skal du begynde forfra i den tegnebog, hvor du bad om beviset.',
    open: 'Åbn tegnebogen',
    openOther: 'Åbn en anden tegnebog',
    noneTitle: 'Der er ikke udstedt et bevis',
    noneForYou:
      'Du kan ikke få dette bevis. Hvis du mener, at det er en fejl, kan du kontakte udstederen af beviset og oplyse teksten med småt herunder.',
    stopped: 'Du fortsatte ikke, og derfor er der ikke udstedt et bevis. Du kan lukke siden.',
    follow: 'Brug det kun, hvis det er din egen tegnebog.',
    back: 'Tilbage til tegnebogen',
    app: (scheme) => `appen ${scheme} på denne enhed`,
    program: (host) => `et program på denne enhed (${host})`,
  },
}
