import { expect, test } from 'vitest'
import { renameOver } from './rename-over.ts'

/** Fails this often, as with a file that another program has open, then works. */
function held(failures: number, code = 'EPERM') {
  const pauses: number[] = []
  let tries = 0
  return {
    pauses,
    rename: () => (tries++ < failures ? Promise.reject(Object.assign(new Error(code), { code })) : Promise.resolve()),
    pause: (ms: number) => Promise.resolve(void pauses.push(ms)),
  }
}

test('on Windows a file that somebody has open for a moment is replaced when it is free', async () => {
  const file = held(3)
  await renameOver('new', 'old', { platform: 'win32', ...file })
  expect(file.pauses).toEqual([10, 20, 40])
})

test('a file that stays open is an error after about a second', async () => {
  const file = held(100, 'EBUSY')
  await expect(renameOver('new', 'old', { platform: 'win32', ...file })).rejects.toThrow('EBUSY')
  expect(file.pauses.reduce((sum, ms) => sum + ms)).toBe(630)
})

test('what will not change by waiting, and every error of other systems, is an error at once', async () => {
  for (const [platform, code] of [
    ['win32', 'ENOENT'],
    ['linux', 'EPERM'],
  ] as const) {
    const file = held(1, code)
    await expect(renameOver('new', 'old', { platform, ...file })).rejects.toThrow(code)
    expect(file.pauses).toEqual([])
  }
})
