/**
 * The last guard before a kernel tool. Names are checked where objects come in; but the tools read lines, so a newline
 * that got past that check would be a rule of somebody else's choice.
 */
import { shownValue } from '../net/shown-value.ts'

// oxlint-disable-next-line no-control-regex -- these are what is looked for
const controlCharacter = /[\u0000-\u001f\u007f-\u009f]/
// oxlint-disable-next-line no-control-regex -- these are what is looked for
const inAnyLine = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/

/** What is wrong with a text that must be one line; undefined when it is one. */
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
