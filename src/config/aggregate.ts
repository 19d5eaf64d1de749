/** Several problems in one line, in the form Kubernetes uses: one alone as it is, more as `[a, b]`, none twice. */
export function aggregate(problems: readonly string[]): string {
  const distinct = [...new Set(problems)]
  return distinct.length === 1 ? (distinct[0] ?? '') : `[${distinct.join(', ')}]`
}
