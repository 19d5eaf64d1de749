import { controlCharacterIn } from '../control-characters.ts'
import { NftError } from './nft.ts'

/** For every text that goes to nft or the kernel as it is. */
export function refuseControlCharacter(text: string): void {
  const problem = controlCharacterIn(text)
  if (problem !== undefined) throw new NftError('refused', `cannot write this to nf_tables: ${problem}`)
}
