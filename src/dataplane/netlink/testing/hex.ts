/** Bytes from hex digits; spaces and line breaks are for the reader. */
export function hex(digits: string): Buffer {
  return Buffer.from(digits.replace(/\s/g, ''), 'hex')
}
