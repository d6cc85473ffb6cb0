/** Draws what the wallet holds, and what it would disclose. */
import type { Json } from '../../src/codec/json.ts'
import { claimLabel, holderClaims, isAboutCredential, sortClaims } from '../../src/wallet/claim-text.ts'
import type { Step } from '../../src/wallet/context.ts'
import type { MatchedCredential } from '../../src/wallet/match-credentials.ts'
import type { StoredCredential } from '../../src/wallet/stored-credential.ts'
import { drawCard } from '../card.ts'
import type { Display } from '../clients.ts'
import { drawTerms, element, sentence } from '../dom.ts'

/** Draws the card of a credential, with its claims to unfold. */
export function drawCredential(credential: StoredCredential, now: Date): HTMLElement {
  const { name, display, issuerName, issuer, expiresAt, format, issuerCertificate: certificate } = credential
  const isOver = expiresAt !== undefined && expiresAt <= now
  const until =
    expiresAt === undefined ? 'does not expire' : `${isOver ? 'expired' : 'valid until'} ${expiresAt.toLocaleString()}`
  return element(
    'article',
    { class: 'held' },
    drawCard(name, (display ?? {}) as Display),
    element('p', { class: isOver ? 'problem' : '' }, sentence`${issuerName ?? issuer} · ${until}`),
    element(
      'details',
      {},
      element('summary', {}, sentence`Claims of the ${name}`),
      drawTerms(
        'claims',
        holderClaims(credential).map(({ position, value }) => [claimLabel(credential, position), valueText(value)]),
      ),
      element('small', {}, sentence`${format}, signed with the certificate ${certificate?.subjectText ?? 'of nobody'}`),
    ),
  )
}

/** Draws the claims that the verifier would see, and names those that it would not. */
export function drawDisclosure({ credential, disclosed, hidden }: MatchedCredential): HTMLElement {
  const claims = sortClaims(
    credential,
    disclosed.filter(({ position }) => !isAboutCredential(credential, position)),
  )
  const reasons = { asked: '', always: ' (cannot be hidden)', inseparable: ' (comes with what was asked)' }
  const hiddenClaims = sortClaims(
    credential,
    hidden.map((position) => ({ position })),
  )
  return element(
    'div',
    {},
    drawCard(credential.name, (credential.display ?? {}) as Display),
    element('h4', {}, 'It will see'),
    claims.length === 0 && element('p', {}, 'no claim at all'),
    drawTerms(
      'claims',
      claims.map(({ position, value, because }) => [
        claimLabel(credential, position),
        element('span', {}, element('bdi', {}, valueText(value)), reasons[because]),
      ]),
    ),
    element('h4', {}, 'It will not see'),
    element(
      'p',
      {},
      hiddenClaims.length === 0 && 'nothing stays hidden',
      ...hiddenClaims.flatMap(({ position }, index) => [
        index > 0 && ', ',
        element('bdi', {}, claimLabel(credential, position)),
      ]),
    ),
  )
}

/** Draws the messages of the wallet, in the order in which they went. */
export function drawSteps(steps: readonly Step[]): HTMLElement {
  const items = steps.map(({ what, means, spec, request, status }) =>
    element(
      'li',
      {},
      element('strong', {}, `It ${what}.`),
      ` ${means} `,
      request !== undefined &&
        element(
          'code',
          { class: 'long' },
          `${request.method} ${request.url}${status === undefined ? '' : ` → ${status}`}`,
        ),
      element('small', {}, ` ${spec}`),
    ),
  )
  return element(
    'details',
    { class: 'messages' },
    element('summary', {}, `What the wallet did, in ${steps.length} steps`),
    element('ol', {}, ...items),
  )
}

function valueText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
