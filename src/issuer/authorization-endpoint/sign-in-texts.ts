/**
 * The texts of the sign-in pages by language. The values that a text takes are HTML, and a place stands behind a colon
 * where the language would change its form.
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
    leadsTo: (place) => `The link on this page leads to ${place}.`,
    afterOffer:
      'Go on only if you have just answered an offer in your own wallet, and this is where your wallet is. If somebody sent you here by a link or a message, close this page.',
    goOn: 'Go on to the wallet',
    wallet: (name, address) => `The wallet calls itself ${name}; its address is ${address}`,
    signInTitle: (issuer, credentials) => `${issuer}: ${credentials} for your wallet`,
    asks: (place) => `A wallet asks for this credential. It will go to ${place}.`,
    afterRequest:
      'Go on only if you have just asked for it in your own wallet, and this is where your wallet is. If somebody sent you here by a link or a message, stop: they would get your credential.',
    signInAt: (provider) => `Sign in at ${provider}`,
    show: 'Show your credential',
    stop: 'Stop',
    openHere: 'Open your wallet on this device. It says what is asked for, and brings you back to this browser.',
    beginAnew: 'If it does not, or if it refuses, begin anew in the wallet that asked for the credential.',
    open: 'Open the wallet',
    openOther: 'Open another wallet',
    noneTitle: 'There is no credential',
    noneForYou: 'There is none for you. Whoever issues the credential can tell you more.',
    stopped: 'There is none, since you did not go on. You can close this page.',
    follow: 'Follow it only if this is where your wallet is.',
    back: 'Back to the wallet',
    app: (scheme) => `the app ${scheme} on this device`,
    program: (host) => `a program on this device (${host})`,
  },
  de: {
    walletTitle: 'Zurück zu Ihrer Wallet',
    leadsTo: (place) => `Der Link auf dieser Seite führt hierhin: ${place}.`,
    afterOffer:
      'Gehen Sie nur weiter, wenn Sie gerade in Ihrer eigenen Wallet ein Angebot angenommen haben und Ihre Wallet dort ist. Hat Sie jemand mit einem Link oder einer Nachricht hierher geschickt, so schließen Sie diese Seite.',
    goOn: 'Weiter zur Wallet',
    wallet: (name, address) => `Die Wallet nennt sich ${name}; ihre Adresse ist ${address}`,
    signInTitle: (issuer, credentials) => `${issuer}: ${credentials} für Ihre Wallet`,
    asks: (place) => `Eine Wallet fragt nach diesem Nachweis. Er geht hierhin: ${place}.`,
    afterRequest:
      'Gehen Sie nur weiter, wenn Sie ihn gerade in Ihrer eigenen Wallet angefordert haben und Ihre Wallet dort ist. Hat Sie jemand mit einem Link oder einer Nachricht hierher geschickt, so brechen Sie ab: Sonst bekommt ein anderer Ihren Nachweis.',
    signInAt: (provider) => `Anmelden bei ${provider}`,
    show: 'Nachweis zeigen',
    stop: 'Abbrechen',
    openHere:
      'Öffnen Sie Ihre Wallet auf diesem Gerät. Sie sagt, wonach gefragt wird, und bringt Sie zu diesem Browser zurück.',
    beginAnew:
      'Tut sie das nicht, oder lehnt sie ab, so beginnen Sie von vorn in der Wallet, die nach dem Nachweis gefragt hat.',
    open: 'Wallet öffnen',
    openOther: 'Andere Wallet öffnen',
    noneTitle: 'Kein Nachweis',
    noneForYou: 'Für Sie gibt es keinen. Wer den Nachweis ausstellt, kann Ihnen mehr sagen.',
    stopped: 'Sie haben abgebrochen, darum gibt es keinen. Sie können diese Seite schließen.',
    follow: 'Folgen Sie ihm nur, wenn Ihre Wallet dort ist.',
    back: 'Zurück zur Wallet',
    app: (scheme) => `die App ${scheme} auf diesem Gerät`,
    program: (host) => `ein Programm auf diesem Gerät (${host})`,
  },
  fr: {
    walletTitle: 'Retour à votre portefeuille',
    leadsTo: (place) => `Le lien de cette page mène ici\u00a0: ${place}.`,
    afterOffer:
      'Ne continuez que si vous venez d’accepter une offre dans votre propre portefeuille et qu’il se trouve bien là. Si quelqu’un vous a envoyé ici par un lien ou un message, fermez cette page.',
    goOn: 'Continuer vers le portefeuille',
    wallet: (name, address) => `Le portefeuille se nomme ${name}\u00a0; son adresse est ${address}`,
    signInTitle: (issuer, credentials) => `${issuer}\u00a0: ${credentials} pour votre portefeuille`,
    asks: (place) => `Un portefeuille demande cette attestation. Elle ira ici\u00a0: ${place}.`,
    afterRequest:
      'Ne continuez que si vous venez de la demander dans votre propre portefeuille et qu’il se trouve bien là. Si quelqu’un vous a envoyé ici par un lien ou un message, arrêtez\u00a0: cette personne recevrait votre attestation.',
    signInAt: (provider) => `Se connecter sur ${provider}`,
    show: 'Présenter votre attestation',
    stop: 'Arrêter',
    openHere:
      'Ouvrez votre portefeuille sur cet appareil. Il indique ce qui est demandé, puis vous ramène à ce navigateur.',
    beginAnew: 'Sinon, ou s’il refuse, recommencez dans le portefeuille qui a demandé l’attestation.',
    open: 'Ouvrir le portefeuille',
    openOther: 'Ouvrir un autre portefeuille',
    noneTitle: 'Pas d’attestation',
    noneForYou: 'Il n’y en a pas pour vous. L’émetteur de l’attestation peut vous en dire plus.',
    stopped: 'Il n’y en a pas, car vous n’avez pas continué. Vous pouvez fermer cette page.',
    follow: 'Ne le suivez que si votre portefeuille se trouve là.',
    back: 'Retour au portefeuille',
    app: (scheme) => `l’application ${scheme} sur cet appareil`,
    program: (host) => `un programme sur cet appareil (${host})`,
  },
  es: {
    walletTitle: 'Volver a su cartera',
    leadsTo: (place) => `El enlace de esta página lleva aquí: ${place}.`,
    afterOffer:
      'Continúe solo si acaba de aceptar una oferta en su propia cartera y su cartera está ahí. Si alguien le ha enviado aquí con un enlace o un mensaje, cierre esta página.',
    goOn: 'Continuar a la cartera',
    wallet: (name, address) => `La cartera se llama ${name}; su dirección es ${address}`,
    signInTitle: (issuer, credentials) => `${issuer}: ${credentials} para su cartera`,
    asks: (place) => `Una cartera pide esta credencial. Irá aquí: ${place}.`,
    afterRequest:
      'Continúe solo si acaba de pedirla en su propia cartera y su cartera está ahí. Si alguien le ha enviado aquí con un enlace o un mensaje, deténgase: esa persona recibiría su credencial.',
    signInAt: (provider) => `Iniciar sesión en ${provider}`,
    show: 'Mostrar su credencial',
    stop: 'Detener',
    openHere: 'Abra su cartera en este dispositivo. Le dice qué se pide y le devuelve a este navegador.',
    beginAnew: 'Si no lo hace, o si la rechaza, empiece de nuevo en la cartera que pidió la credencial.',
    open: 'Abrir la cartera',
    openOther: 'Abrir otra cartera',
    noneTitle: 'No hay credencial',
    noneForYou: 'No hay ninguna para usted. Quien emite la credencial puede decirle más.',
    stopped: 'No hay ninguna, porque usted no ha continuado. Puede cerrar esta página.',
    follow: 'Sígalo solo si su cartera está ahí.',
    back: 'Volver a la cartera',
    app: (scheme) => `la aplicación ${scheme} en este dispositivo`,
    program: (host) => `un programa en este dispositivo (${host})`,
  },
  da: {
    walletTitle: 'Tilbage til din wallet',
    leadsTo: (place) => `Linket på denne side fører hertil: ${place}.`,
    afterOffer:
      'Fortsæt kun, hvis du lige har taget imod et tilbud i din egen wallet, og din wallet er der. Hvis nogen har sendt dig hertil med et link eller en besked, så luk denne side.',
    goOn: 'Videre til wallet’en',
    wallet: (name, address) => `Wallet’en kalder sig ${name}; dens adresse er ${address}`,
    signInTitle: (issuer, credentials) => `${issuer}: ${credentials} til din wallet`,
    asks: (place) => `En wallet beder om dette bevis. Det sendes hertil: ${place}.`,
    afterRequest:
      'Fortsæt kun, hvis du lige har bedt om det i din egen wallet, og din wallet er der. Hvis nogen har sendt dig hertil med et link eller en besked, så stop: de ville få dit bevis.',
    signInAt: (provider) => `Log ind hos ${provider}`,
    show: 'Vis dit bevis',
    stop: 'Stop',
    openHere: 'Åbn din wallet på denne enhed. Den siger, hvad der bedes om, og fører dig tilbage til denne browser.',
    beginAnew: 'Hvis den ikke gør det, eller afviser, så begynd forfra i den wallet, der bad om beviset.',
    open: 'Åbn din wallet',
    openOther: 'Åbn en anden wallet',
    noneTitle: 'Intet bevis',
    noneForYou: 'Der er ikke noget til dig. Den, der udsteder beviset, kan fortælle dig mere.',
    stopped: 'Der er ikke noget, fordi du ikke fortsatte. Du kan lukke denne side.',
    follow: 'Følg det kun, hvis din wallet er der.',
    back: 'Tilbage til wallet’en',
    app: (scheme) => `appen ${scheme} på denne enhed`,
    program: (host) => `et program på denne enhed (${host})`,
  },
}
