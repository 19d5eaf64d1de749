/**
 * The last check before a kernel tool. Names are also checked where objects come in. But the tools read lines, so whoever
 * got a newline past that check could write rules of their own.
 */
import { shownValue } from '../net/shown-value.ts'

// oxlint-disable-next-line no-control-regex -- these are what is looked for
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const inAnyLine = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/

/** The problem of a text that must be one line, if it has one. */
export function controlCharacterIn(text: string): string | undefined {
  return controlCharacter.test(text) ? `${shownValue(text)} holds a control character` : undefined
}

/** The same for text of several lines. */
export function controlCharacterInLines(text: string): string | undefined {
  const at = text.search(inAnyLine)
  if (at < 0) return undefined
  const end = text.indexOf('\n', at)
  return controlCharacterIn(text.slice(text.lastIndexOf('\n', at) + 1, end < 0 ? undefined : end))
}
