// The page of the library: each button asks the library's own server, and the element does the rest.
const byId = (id) => document.getElementById(id)

async function post(path, body) {
  const response = await fetch(path, {
    method: 'POST',
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  if (!response.ok) throw new Error((await response.json()).error)
  return response.json()
}

/**
 * Shows the link of a session, calls `onEnd` when the session has ended and is shown still, and returns the element.
 * Calls `again` when the person wants another link. An answer that comes late says nothing about the next person. What
 * fails is said in the element of the page with the id `stateId`.
 */
function show(place, { link, kind, path }, { onEnd, again, stateId }) {
  const element = document.createElement('vouchsafe-request')
  element.setAttribute('kind', kind)
  element.setAttribute('link', link)
  element.setAttribute('status-url', path)
  const showEnd = async () => {
    const response = await fetch(path)
    if (!response.ok) throw new Error()
    const session = await response.json()
    if (element.isConnected) onEnd(session)
  }
  element.addEventListener('end', orSay(stateId, showEnd))
  element.addEventListener('renew', again)
  place.replaceChildren(element)
  return element
}

/** Says in `place` that `work` failed. */
function orSay(place, work) {
  return (event) =>
    work(event).catch(() => {
      byId(place).textContent = 'That does not work now. Try again later.'
    })
}

const newCard = async (event) => {
  event.preventDefault()
  // The next person sees nothing of the card before, and cannot revoke it.
  byId('card-state').textContent = ''
  byId('revoke').hidden = true
  byId('offer').replaceChildren()
  const { id, link } = await post('/cards', { name: new FormData(event.target).get('name') })
  const element = show(
    byId('offer'),
    { link, kind: 'offer', path: `/cards/${id}` },
    {
      onEnd: ({ status, number }) => {
        byId('card-state').textContent = status === 'SUCCEEDED' ? `Your card number is ${number}.` : 'There is no card.'
        byId('revoke').hidden = status !== 'SUCCEEDED'
      },
      again: () => byId('new-card').requestSubmit(),
      stateId: 'card-state',
    },
  )
  byId('revoke').onclick = orSay('card-state', async () => {
    const { status } = await post(`/cards/${id}/revoke`)
    if (!element.isConnected) return
    byId('card-state').textContent = status === 'REVOKED' ? 'The card is no longer valid.' : status
    byId('revoke').hidden = status === 'REVOKED'
  })
}
byId('new-card').addEventListener('submit', orSay('card-state', newCard))

const newVisit = async () => {
  // The next visitor sees nothing of the one before.
  byId('visit-state').textContent = ''
  byId('request').replaceChildren()
  const { id, link } = await post('/visits')
  show(
    byId('request'),
    { link, kind: 'presentation', path: `/visits/${id}` },
    {
      onEnd: ({ name, reasons }) => {
        byId('visit-state').textContent = name ? `Welcome, ${name}!` : `You cannot come in. ${reasons.join(' ')}`
      },
      again: () => byId('new-visit').click(),
      stateId: 'visit-state',
    },
  )
}
byId('new-visit').addEventListener('click', orSay('visit-state', newVisit))
