/** What each Service of the sample application teaches. */
export const captions: Readonly<Record<string, { readonly title: string; readonly text: string }>> = {
  'shop/web': {
    title: 'web: one address, several replicas',
    text: 'Clients know one address. The proxy takes every connection to it and hands it to a replica that is ready; they take turns. Stop one: its clients do not notice.',
  },
  'shop/api': {
    title: 'api: each client keeps its replica',
    text: 'With session affinity a client comes back to the replica that answered it before. Turn it off, and they take turns again. Drain a replica, and its clients move.',
  },
  'shop/echo': {
    title: 'echo: UDP has no connections',
    text: 'The proxy remembers who sent a datagram, so that the answer finds its way back. Every client here asks from a new port each time, so each question is balanced.',
  },
  'shop/closed': {
    title: 'closed: nobody behind the address',
    text: 'Without an endpoint the proxy turns clients away at once, instead of letting them wait. Add a replica, and the next connection is answered.',
  },
}
