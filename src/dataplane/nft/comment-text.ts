import { refuseControlCharacter } from './refuse-control-character.ts'

/** nft refuses longer comments. */
const maxBytes = 128

/** What of a comment nft and the kernel take: there is no way to write a double quote. Throws for control characters. */
export function commentText(comment: string): string {
  refuseControlCharacter(comment)
  const clean = comment.includes('"') ? comment.replaceAll('"', '') : comment
  // No character has more than three bytes per UTF-16 unit, so most comments need no counting.
  if (clean.length * 3 <= maxBytes || Buffer.byteLength(clean) <= maxBytes) return clean
  let kept = ''
  let bytes = 0
  for (const character of clean) {
    bytes += Buffer.byteLength(character)
    if (bytes > maxBytes) break
    kept += character
  }
  return kept
}
