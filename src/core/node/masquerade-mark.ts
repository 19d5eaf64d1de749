/**
 * The packet mark that asks for masquerading: one bit, as eight hex digits. A power, not a shift: `1 << 31` is
 * negative in JavaScript.
 */
export function masqueradeMark(bit: number): string {
  return `0x${(2 ** bit).toString(16).padStart(8, '0')}`
}
