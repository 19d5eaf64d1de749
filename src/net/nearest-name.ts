/** The known name that a mistyped one most likely meant, if any is close. */
export function nearestName(mistyped: string, known: Iterable<string>): string | undefined {
  const wanted = mistyped.toLowerCase()
  let nearest: { readonly name: string; readonly distance: number } | undefined
  for (const name of known) {
    const distance = editDistance(wanted, name.toLowerCase())
    if (isClose(wanted, name.toLowerCase(), distance) && distance < (nearest?.distance ?? Number.POSITIVE_INFINITY))
      nearest = { name, distance }
  }
  return nearest?.name
}

/**
 * A third of the letters may differ, or one may contain the other (`pattern` for `filePattern`). More is another word.
 */
function isClose(wanted: string, name: string, distance: number): boolean {
  if (distance <= Math.max(2, Math.floor(wanted.length / 3))) return true
  return Math.min(wanted.length, name.length) > 3 && (name.includes(wanted) || wanted.includes(name))
}

/** How many letters have to be added, removed or replaced (Levenshtein). */
function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row++) {
    const current = [row]
    for (let column = 1; column <= to.length; column++) {
      const replaced = at(previous, column - 1) + (from[row - 1] === to[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, at(previous, column) + 1, at(current, column - 1) + 1))
    }
    previous = current
  }
  return at(previous, to.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
