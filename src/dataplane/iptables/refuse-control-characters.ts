import { controlCharacterIn, controlCharacterInLines } from '../control-characters.ts'
import { IptablesError } from './iptables.ts'
import type { RestoreText } from './iptables.ts'

/** For a single word, rule or name. */
export function refuseControlCharacter(text: string): void {
  refuse(controlCharacterIn(text))
}

/** It cannot notice a newline within a rule, because the input has many lines. See `refuseExtraLines`. */
export function refuseControlCharacters(input: RestoreText): void {
  if (typeof input === 'string') refuse(controlCharacterInLines(input))
  else for (const piece of input) refuse(controlCharacterInLines(piece))
}

/** For `count` rules that have been joined: more lines than rules means that a rule has a newline in it. */
export function refuseExtraLines(lines: string, count: number): void {
  let found = 0
  for (let at = lines.indexOf('\n'); at >= 0; at = lines.indexOf('\n', at + 1)) found++
  if (found !== count) refuse(controlCharacterIn(lines))
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new IptablesError('refused', `cannot write this to iptables: ${problem}`)
}
