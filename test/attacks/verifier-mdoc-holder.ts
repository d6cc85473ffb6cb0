/** Attacks on the agreement of the device to this presentation, for us, in this session. */
import { createHmac, hash } from 'node:crypto'
import { type Cbor, type CborKey, embedCbor, encodeCbor, makeTagged } from '../../src/codec/cbor.ts'
import type { Binding } from '../../src/credential/format.ts'
import { signWith } from '../support/forge.ts'
import { deviceOf, type MdocForgery, mdocQuery, membersOf, NAMESPACE, responseUriOf } from '../support/mdoc.ts'
import { holderSigner, startVerification } from '../support/wire.ts'
import { type Attack, after } from './attack.ts'

type MdocAttack = Attack<MdocForgery>

const unbound = { fails: 'holder.binding', notRun: after.binding }
const badSignature = { fails: 'holder.signature' }
const unreadable = { fails: 'presentation.well_formed', notRun: after.reading }

/** Has the device sign for another session. */
function session(change: (session: Binding) => Partial<Binding>): Pick<MdocAttack, 'change'> {
  return {
    change(forgery) {
      const device = deviceOf(forgery)
      device.session = { ...device.session, ...change(device.session) }
    },
  }
}

/** Has the device sign other bytes than it should. */
function payload(make: (forgery: MdocForgery, session: Binding) => Uint8Array): Pick<MdocAttack, 'change'> {
  return {
    change(forgery) {
      const device = deviceOf(forgery)
      device.payload = (whole) => make(whole, device.session)
    },
  }
}

/** Returns the bytes for any handover. */
function withHandover(docType: string, handover: Cbor, nameSpaces = new Map<CborKey, Cbor>()): Uint8Array {
  return encodeCbor(embedCbor(['DeviceAuthentication', [null, null, handover], docType, embedCbor(nameSpaces)]))
}

function handoverOf({ audience, nonce, recipient, encryptionKeyThumbprint }: Binding): Cbor {
  const info = encodeCbor([audience, nonce, encryptionKeyThumbprint ?? null, responseUriOf(recipient)])
  return ['OpenID4VPHandover', hash('sha256', info, 'buffer')]
}

function auth(make: (deviceSignature: Cbor) => Cbor): Pick<MdocAttack, 'change'> {
  return {
    change(forgery) {
      deviceOf(forgery).auth = make
    },
  }
}

/** Replaces members of the device key, or takes them away. */
function deviceKey(members: readonly (readonly [CborKey, Cbor | undefined])[]): Pick<MdocAttack, 'change'> {
  return {
    change({ mso }) {
      const info = membersOf(mso.get('deviceKeyInfo'))
      const key = membersOf(info.get('deviceKey'))
      for (const [label, value] of members) {
        if (value === undefined) key.delete(label)
        else key.set(label, value)
      }
      mso.set('deviceKeyInfo', info.set('deviceKey', key))
    },
  }
}

/** Has the device state elements of its own; the issuer lets it state those that `authorizations` say. */
export function states(nameSpaces: Map<CborKey, Cbor>, authorizations: Cbor | undefined): Pick<MdocAttack, 'change'> {
  return {
    change(forgery) {
      deviceOf(forgery).nameSpaces = nameSpaces
      const info = membersOf(forgery.mso.get('deviceKeyInfo'))
      if (authorizations !== undefined) info.set('keyAuthorizations', authorizations)
      forgery.mso.set('deviceKeyInfo', info)
    },
  }
}

const stated = new Map([[NAMESPACE, new Map([['age_over_21', true]])]])

export const mdocHolderAttacks: readonly MdocAttack[] = [
  {
    attack: 'There is no deviceSigned.',
    ...unbound,
    change(forgery) {
      forgery.device = undefined
    },
  },
  { attack: 'The device authentication is empty.', ...unbound, ...auth(() => new Map()) },
  {
    attack: 'The device authentication is a MAC (deviceMac).',
    ...unbound,
    ...auth(() => new Map([['deviceMac', [Buffer.from('a10105', 'hex'), new Map(), null, Buffer.alloc(32)]]])),
  },
  {
    attack: 'The device authentication is a signature and a MAC.',
    ...unbound,
    ...auth(
      (deviceSignature) =>
        new Map<CborKey, Cbor>([
          ['deviceSignature', deviceSignature],
          ['deviceMac', [Buffer.from('a10105', 'hex'), new Map(), null, Buffer.alloc(32)]],
        ]),
    ),
  },
  {
    attack: 'The issuer bound the mobile document to no key.',
    ...unbound,
    change({ mso }) {
      const info = membersOf(mso.get('deviceKeyInfo'))
      info.delete('deviceKey')
      mso.set('deviceKeyInfo', info)
    },
  },
  {
    attack: 'The private key of the device is in the mobile document.',
    ...unbound,
    ...deviceKey([[-4, Buffer.alloc(32, 1)]]),
  },
  { attack: 'The device key is on a curve that nobody takes (secp256k1).', ...unbound, ...deviceKey([[-1, 8]]) },
  { attack: 'The device key is on a curve named by a text.', ...unbound, ...deviceKey([[-1, 'P-256']]) },
  { attack: 'The device key is for the agreement of keys (alg).', ...unbound, ...deviceKey([[3, -25]]) },
  { attack: 'The device key is for signatures on another curve (alg).', ...unbound, ...deviceKey([[3, -35]]) },
  { attack: 'The algorithm of the device key is a text.', ...unbound, ...deviceKey([[3, 'ES256']]) },
  { attack: 'The device key is for deriving other keys (key_ops).', ...unbound, ...deviceKey([[4, [7]]]) },
  { attack: 'The operations of the device key are one number.', ...unbound, ...deviceKey([[4, 2]]) },
  { attack: 'The device key has a coordinate that is too short.', ...unbound, ...deviceKey([[-2, Buffer.alloc(31)]]) },
  {
    attack: 'The device key is a shared secret.',
    ...unbound,
    change(forgery) {
      const secret = Buffer.alloc(32, 7)
      forgery.mso.set(
        'deviceKeyInfo',
        new Map([
          [
            'deviceKey',
            new Map<CborKey, Cbor>([
              [1, 4],
              [-1, secret],
            ]),
          ],
        ]),
      )
      const device = deviceOf(forgery)
      device.protectedHeader.set(1, 5)
      device.sign = (data) => Promise.resolve(createHmac('sha256', secret).update(data).digest())
    },
  },
  { attack: 'The device key is not a point on its curve.', ...badSignature, ...deviceKey([[-3, Buffer.alloc(32, 1)]]) },
  {
    attack: 'The device states an element that the issuer did not authorize.',
    ...unbound,
    ...states(stated, undefined),
  },
  {
    attack: 'The device states an element of another namespace than the issuer authorized.',
    ...unbound,
    ...states(stated, new Map([['nameSpaces', ['org.example.extra']]])),
  },
  {
    attack: 'The device states another element than the issuer authorized.',
    ...unbound,
    ...states(stated, new Map([['dataElements', new Map([[NAMESPACE, ['age_over_18']]])]])),
  },
  {
    attack: 'The device states an element whose name the issuer authorized in another namespace.',
    ...unbound,
    ...states(stated, new Map([['dataElements', new Map([['org.example.extra', ['age_over_21']]])]])),
  },
  {
    attack: 'The device authorizes itself to state elements.',
    ...unbound,
    ...states(
      new Map<CborKey, Cbor>([...stated, ['keyAuthorizations', new Map([['nameSpaces', [NAMESPACE]]])]]),
      undefined,
    ),
  },
  {
    attack: 'The device states what is not a list of elements.',
    ...unbound,
    ...states(new Map([[NAMESPACE, 7]]), undefined),
  },
  {
    attack: 'The signature of the device has one bit changed.',
    ...badSignature,
    change(forgery) {
      const device = deviceOf(forgery)
      const { sign: signed } = device
      device.sign = async (data) => (await signed(data)).map((byte, at) => (at === 3 ? byte ^ 0x80 : byte))
    },
  },
  {
    attack: 'A thief without the device key signs the presentation.',
    ...badSignature,
    async change(forgery) {
      const thief = await holderSigner()
      deviceOf(forgery).sign = (data) => thief.sign(data)
    },
  },
  {
    attack: 'The issuer signs in place of the device.',
    ...badSignature,
    change(forgery, { issuerKey }) {
      deviceOf(forgery).sign = signWith(issuerKey)
    },
  },
  {
    attack: 'The signature of the device is of another length.',
    ...badSignature,
    change(forgery) {
      const device = deviceOf(forgery)
      const { sign } = device
      device.sign = async (data) => Buffer.concat([await sign(data), Buffer.alloc(1)])
    },
  },
  {
    attack: 'The header of the device signature says ES384.',
    ...badSignature,
    change: (forgery) => void deviceOf(forgery).protectedHeader.set(1, -35),
  },
  {
    attack: 'The header of the device signature says HMAC 256/256 (5).',
    ...badSignature,
    change: (forgery) => void deviceOf(forgery).protectedHeader.set(1, 5),
  },
  {
    attack: 'The header of the device signature has no algorithm.',
    ...badSignature,
    change: (forgery) => void deviceOf(forgery).protectedHeader.delete(1),
  },
  {
    attack: 'The device signed for another nonce.',
    ...badSignature,
    ...session(({ nonce }) => ({ nonce: `${nonce}x` })),
  },
  {
    attack: 'The device signed for another session of ours.',
    ...badSignature,
    async change(forgery, { services }) {
      const { request } = await startVerification(services, mdocQuery)
      const device = deviceOf(forgery)
      device.session = { ...device.session, nonce: request.nonce, recipient: { responseUri: request.response_uri } }
    },
  },
  {
    attack: 'The device signed for another verifier.',
    ...badSignature,
    ...session(() => ({ audience: 'x509_hash:someOtherVerifier' })),
  },
  {
    attack: 'The device signed for our client identifier without its prefix.',
    ...badSignature,
    ...session(({ audience }) => ({ audience: audience.slice(audience.indexOf(':') + 1) })),
  },
  {
    attack: 'The device signed for a response to another address.',
    ...badSignature,
    ...session(({ recipient }) => ({ recipient: { responseUri: `${responseUriOf(recipient)}/` } })),
  },
  {
    attack: 'The device signed for a response that is encrypted to another key.',
    ...badSignature,
    ...session(() => ({ encryptionKeyThumbprint: Buffer.alloc(32, 1) })),
  },
  {
    attack: 'The device signed for a response that is not encrypted.',
    ...badSignature,
    ...session(() => ({ encryptionKeyThumbprint: undefined })),
  },
  {
    attack: 'The device signed the name of the key in place of its thumbprint in bytes.',
    ...badSignature,
    ...session(({ encryptionKeyThumbprint: bytes }) => ({
      encryptionKeyThumbprint: Buffer.from(Buffer.from(bytes ?? []).toString('base64url')),
    })),
  },
  {
    attack: 'The device signed another type than the document states.',
    ...badSignature,
    ...payload((_, binding) => withHandover('org.example.other', handoverOf(binding))),
  },
  {
    attack: 'The device signed other elements of its own than are sent.',
    ...badSignature,
    ...payload(({ docType }, binding) => withHandover(docType, handoverOf(binding), stated)),
  },
  {
    attack: 'The device signed for the Digital Credentials API.',
    ...badSignature,
    ...payload(({ docType }, { audience, nonce }) =>
      withHandover(docType, ['OpenID4VPDCAPIHandover', hash('sha256', encodeCbor([audience, nonce, null]), 'buffer')]),
    ),
  },
  {
    attack: 'The device signed with a handover by the name of another protocol.',
    ...badSignature,
    ...payload(({ docType }, binding) => {
      const [, digest = null] = handoverOf(binding) as readonly Cbor[]
      return withHandover(docType, ['ProximityHandover', digest])
    }),
  },
  {
    attack: 'The device signed the handover of a draft, which had other members.',
    ...badSignature,
    ...payload(({ docType }, { audience, nonce, recipient }) => {
      const digest = (text: string) => hash('sha256', encodeCbor([text, 'the nonce of the mdoc']), 'buffer')
      return withHandover(docType, [digest(audience), digest(responseUriOf(recipient)), nonce])
    }),
  },
  {
    attack: 'The device signed the device authentication without its tag.',
    ...badSignature,
    ...payload(({ docType }, binding) =>
      encodeCbor(['DeviceAuthentication', [null, null, handoverOf(binding)], docType, embedCbor(new Map())]),
    ),
  },
  {
    attack: 'The device signed for a reader (ReaderAuthentication).',
    ...badSignature,
    ...payload((_, binding) =>
      encodeCbor(embedCbor(['ReaderAuthentication', [null, null, handoverOf(binding)], embedCbor(new Map())])),
    ),
  },
  {
    attack: 'A thief sends the signature of the device with the payload it was made for.',
    ...unreadable,
    change(forgery) {
      const device = deviceOf(forgery)
      device.session = { ...device.session, nonce: 'another' }
      device.auth = (deviceSignature) => {
        const [header = null, unprotected = null, , signature = null] = deviceSignature as readonly Cbor[]
        return new Map([['deviceSignature', [header, unprotected, device.payload(forgery), signature]]])
      }
    },
  },
  {
    attack: 'The device signature is a COSE_Mac0 by its tag.',
    ...unreadable,
    ...auth((sign1) => new Map([['deviceSignature', makeTagged(17, sign1)]])),
  },
  {
    attack: 'The device authentication has a member that nobody knows.',
    ...unreadable,
    ...auth(
      (sign1) =>
        new Map([
          ['deviceSignature', sign1],
          ['other', sign1],
        ]),
    ),
  },
  { attack: 'The device signature is null.', ...unreadable, ...auth(() => new Map([['deviceSignature', null]])) },
  {
    attack: 'What the device states is not embedded CBOR.',
    ...unreadable,
    change(forgery) {
      forgery.finish = (document) =>
        void document.set('deviceSigned', membersOf(document.get('deviceSigned')).set('nameSpaces', new Map()))
    },
  },
]
