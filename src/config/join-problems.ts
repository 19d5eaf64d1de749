/**
 * Several problems in one line, as Kubernetes writes them: a single one as it is, more as `[a, b]`, without duplicates.
 */
export function joinProblems(problems: readonly string[]): string {
  const distinct = [...new Set(problems)]
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`
}
