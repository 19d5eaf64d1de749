import { controlCharacterIn } from '../control-characters.ts'
import { IpsetError } from './ipset.ts'

/** A set's name goes to the tool as it is; entries do not: they are parsed and written anew. */
export function refuseName(name: string): void {
  const problem = controlCharacterIn(name)
  if (problem !== undefined) throw new IpsetError('refused', `this cannot be the name of a set: ${problem}`)
}
