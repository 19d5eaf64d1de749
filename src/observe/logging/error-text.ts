/** What an error says, with its causes, on one line: `cannot list services: connect ECONNREFUSED 127.0.0.1:6443`. */
export function errorText(error: Error): string {
  const own = ownText(error)
  if (!(error.cause instanceof Error)) return own
  const cause = errorText(error.cause)
  // Many messages already repeat their cause.
  return own.includes(cause) ? own : `${own}: ${cause}`
}

function ownText(error: Error): string {
  // Node's AggregateError of a failed connect has an empty message: what matters is inside.
  if (error instanceof AggregateError && error.message === '') {
    return `[${error.errors.map((inner) => (inner instanceof Error ? errorText(inner) : String(inner))).join(', ')}]`
  }
  return error.message === '' ? error.name : error.message
}
