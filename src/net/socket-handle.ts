/** What a socket of Node's is inside: not documented, but the same since Node 0.x. Undefined: there is none (any more). */
export function handleOf(socket: object): object | undefined {
  // A datagram socket has its handle in here, and warns of a deprecation when it is asked for `_handle`.
  const state = Object.getOwnPropertySymbols(socket).find(({ description }) => description === 'state symbol')
  const holder = state === undefined ? socket : (socket as Record<symbol, unknown>)[state]
  const { handle, _handle } = (holder ?? {}) as { readonly handle?: object | null; readonly _handle?: object | null }
  return (state === undefined ? _handle : handle) ?? undefined
}
