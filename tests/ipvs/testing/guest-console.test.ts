import { expect, test } from 'vitest'
import { beginMark, endMark, GuestConsole } from './guest-console.ts'

test('wherever a chunk ends, what is told is what the command printed', () => {
  const printed = `it's me\nguest\nguest-command\n`
  const everything = `kernel\n${beginMark}\n${printed}${endMark}\nmore of the kernel`
  for (let end = 1; end < everything.length; end++) {
    const heard: string[] = []
    const guest = new GuestConsole((text) => heard.push(text))
    guest.take(everything.slice(0, end))
    guest.take(everything.slice(end))
    expect([guest.output, heard.join('')]).toEqual([printed, printed])
  }
})
