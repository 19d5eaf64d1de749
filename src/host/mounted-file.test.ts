import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mountedFileFinder } from './mounted-file.ts'

let root = ''
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'fairlead-hpc-'))
  await mkdir(join(root, 'var/lib/kube-proxy'), { recursive: true })
  await writeFile(join(root, 'var/lib/kube-proxy/config.conf'), '')
})
afterEach(() => rm(root, { recursive: true }))

const find = (path: string, platform: NodeJS.Platform = 'win32', env = { CONTAINER_SANDBOX_MOUNT_POINT: root }) =>
  mountedFileFinder(platform, env)(path)

test('a file that is not at its path is found below the mount point of the container, with or without a drive', () => {
  const there = join(root, 'var/lib/kube-proxy/config.conf')
  expect(find('/var/lib/kube-proxy/config.conf')).toBe(there)
  expect(find('C:/var/lib/kube-proxy/config.conf')).toBe(there)
})

test('a file that is at its path is used from there', () => {
  const here = join(root, 'var/lib/kube-proxy/config.conf')
  expect(find(here)).toBe(here)
})

test('a file that is nowhere keeps its name, so that the error shows what was asked for', () => {
  expect(find('/var/lib/kube-proxy/missing.conf')).toBe('/var/lib/kube-proxy/missing.conf')
  expect(find('')).toBe('')
})

test('outside such a container, and on other systems, paths are what they are', () => {
  const path = '/var/lib/kube-proxy/config.conf'
  expect(mountedFileFinder('win32', {})(path)).toBe(path)
  expect(find(path, 'linux')).toBe(path)
})
