import type { BatchWriter } from './batch-writer.ts'
import { commentText } from '../comment-text.ts'
import { commentUserData } from '../../nf-tables/protocol-numbers.ts'

/** A comment in the form of nft: a type, the length with the final NUL, and the text. Needs four bytes per character. */
export function writeComment(writer: BatchWriter, field: number, comment: string): void {
  const text = commentText(comment)
  const bytes = Buffer.byteLength(text)
  const at = writer.attribute(field, bytes + 3)
  writer.buffer[at] = commentUserData
  writer.buffer[at + 1] = bytes + 1
  writer.buffer.write(text, at + 2)
  writer.buffer[at + 2 + bytes] = 0
}
