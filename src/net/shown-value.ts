/** Shows values from outside in messages: on one line, and always short. */

/** Long enough for any object name, so that a field of a megabyte does not fill a disk with logs. */
const maxLength = 256

/** JSON in quotes; for objects and the like, only a word. */
export function shownValue(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string' && value.length > maxLength)
    return `${JSON.stringify(value.slice(0, maxLength))}… (${value.length} characters)`
  if (typeof value === 'bigint') return shortened(value.toString())
  return typeof value === 'object' && value !== null ? 'an object' : shortened(JSON.stringify(value) ?? typeof value)
}

/** For a text that may contain values from outside, such as the message of a parser. */
export function shortened(text: string, max = 2 * maxLength): string {
  return text.length <= max ? text : `${text.slice(0, max)}… (${text.length} characters)`
}
