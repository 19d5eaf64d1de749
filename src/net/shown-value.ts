/** How values from outside appear in messages: on one line, and never long, however long they are. */

/** A whole name of an object fits; a field of a megabyte does not fill a disk with logs. */
const maxLength = 256

/** A value in quotes, as JSON; only a word for what is no plain value. */
export function shownValue(value: unknown): string {
  if (value === undefined) return 'missing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string' && value.length > maxLength)
    return `${JSON.stringify(value.slice(0, maxLength))}… (${value.length} characters)`
  if (typeof value === 'bigint') return shortened(value.toString())
  return typeof value === 'object' && value !== null ? 'an object' : shortened(JSON.stringify(value) ?? typeof value)
}

/** A text that may hold values from outside, such as the message of a parser. */
export function shortened(text: string, max = 2 * maxLength): string {
  return text.length <= max ? text : `${text.slice(0, max)}… (${text.length} characters)`
}
