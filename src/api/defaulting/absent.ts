/** Go's JSON cannot tell a missing string from null or an empty one, so defaulting treats all three alike. */
export function isAbsent(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === ''
}
