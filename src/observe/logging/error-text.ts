/** What an error says, with its causes, on one line: `cannot list services: connect ECONNREFUSED 127.0.0.1:6443`. */
export function errorText(error: Error): string {
  let text = ownText(error)
  for (let { cause } = error; cause instanceof Error; cause = cause.cause) {
    const own = ownText(cause)
    // Many messages already repeat their cause.
    if (!text.includes(own)) text += `: ${own}`
  }
  return text
}

function ownText(error: Error): string {
  // Node's AggregateError of a failed connect has an empty message: what matters is inside.
  if (error instanceof AggregateError && error.message === '') {
    return `[${error.errors.map((inner) => (inner instanceof Error ? errorText(inner) : String(inner))).join(', ')}]`
  }
  return error.message === '' ? error.name : error.message
}
