/** The known name that a mistyped one most likely meant, or undefined when none is close. */
export function nearestName(mistyped: string, known: Iterable<string>): string | undefined {
  let nearest: string | undefined
  // A third of the letters may differ: more is another word.
  let smallest = Math.max(2, Math.floor(mistyped.length / 3)) + 1
  for (const name of known) {
    const distance = editDistance(mistyped.toLowerCase(), name.toLowerCase())
    if (distance < smallest) {
      smallest = distance
      nearest = name
    }
  }
  return nearest
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
