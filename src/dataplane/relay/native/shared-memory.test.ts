import { closeSync, ftruncateSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import * as libc from '../../libc/libc.ts'
import { createSharedMemory } from './shared-memory.ts'

test.each([0, 100, 10_000])('nobody can make the shared memory %i bytes long', (size) => {
  const { fd, bytes } = createSharedMemory(libc, 4096)
  onTestFinished(() => closeSync(fd))
  expect(() => ftruncateSync(fd, size)).toThrow('EPERM')
  new Uint8Array(bytes)[4095] = 7
  expect(new Uint8Array(bytes)[4095]).toBe(7)
})

test('memory that cannot be had is an error that says so', () => {
  expect(() => createSharedMemory(libc, 2 ** 52)).toThrow(/EFBIG|ENOMEM/)
})
