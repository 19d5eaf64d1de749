import { controlCharacterIn, controlCharacterInLines } from '../control-characters.ts'
import { IptablesError } from './iptables.ts'
import type { RestoreText } from './iptables.ts'

/** For one word, one rule or one name. */
export function refuseControlCharacter(text: string): void {
  refuse(controlCharacterIn(text))
}

/** Input of iptables-restore is made of lines, so only who makes them can tell a line too many: see `refuseExtraLines`. */
export function refuseControlCharacters(input: RestoreText): void {
  if (typeof input === 'string') refuse(controlCharacterInLines(input))
  else for (const piece of input) refuse(controlCharacterInLines(piece))
}

/** For rules that have been joined: each is one line, whatever is in it. */
export function refuseExtraLines(lines: string, count: number): void {
  let found = 0
  for (let at = lines.indexOf('\n'); at >= 0; at = lines.indexOf('\n', at + 1)) found++
  if (found !== count) refuse(controlCharacterIn(lines))
}

function refuse(problem: string | undefined): void {
  if (problem !== undefined) throw new IptablesError('refused', `cannot write this to iptables: ${problem}`)
}
