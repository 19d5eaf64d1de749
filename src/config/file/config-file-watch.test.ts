import { once } from 'node:events'
import { watch } from 'node:fs'
import { appendFile, chmod, mkdtemp, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { watchConfigFile } from './config-file-watch.ts'

const content = 'mode: iptables\n'
const updated = "content of the proxy server's configuration file was updated"

const onWindows = process.platform === 'win32'

let directory: string
let path: string
let stop: AbortController

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-config-'))
  path = join(directory, 'config.yaml')
  await writeFile(path, content)
  stop = new AbortController()
})

afterEach(async () => {
  stop.abort()
  await rm(directory, { recursive: true, force: true })
})

test('a write to the configuration file ends the watch with an error', async () => {
  const { ended, isReady } = watched()
  await isReady
  await appendFile(path, 'oomScoreAdj: 0\n')
  expect((await ended)?.message).toBe(updated)
})

test.skipIf(onWindows)(
  'moving the configuration file away ends the watch with an error (not on Windows: it looks like a removal)',
  async () => {
    const { ended, isReady } = watched()
    await isReady
    await rename(path, join(directory, 'elsewhere.yaml'))
    expect((await ended)?.message).toBe(updated)
  },
)

test('a change between loading the file and watching it ends the watch with an error', async () => {
  const ended = watchConfigFile({ file: { path, content: 'mode: ipvs\n' } }, stop.signal)
  expect((await ended)?.message).toBe(updated)
})

const harmless: Readonly<Record<string, () => Promise<void>>> = {
  chmod: () => chmod(path, 0o600),
  touch: () => utimes(path, new Date(0), new Date(0)),
  remove: () => rm(path),
}

for (const [name, act] of Object.entries(harmless)) {
  test(`${name} leaves the proxy running`, async () => {
    const { ended, isReady, nextIgnored } = watched()
    await isReady
    const ignored = nextIgnored()
    await act()
    await ignored
    stop.abort()
    expect(await ended).toBeUndefined()
  })
}

test('after an atomic replacement, writes to the new file are not seen; on Windows the replacement is a write', async () => {
  const { ended, isReady, nextIgnored } = watched()
  await isReady
  const ignored = nextIgnored()
  await writeFile(`${path}.new`, 'mode: nftables\n')
  await rename(`${path}.new`, path)
  await Promise.race([ignored, ended])
  const onLooker = watch(directory)
  const seen = once(onLooker, 'change')
  await appendFile(path, 'oomScoreAdj: 0\n')
  await seen
  onLooker.close()
  stop.abort()
  expect((await ended)?.message).toBe(onWindows ? updated : undefined)
})

test.skipIf(onWindows)(
  'a ConfigMap volume that swaps its symlink leaves the proxy running (not on Wine: it makes no symlinks)',
  async () => {
    const target = join(directory, 'first.yaml')
    await rename(path, target)
    await symlink(target, path)
    const { ended, isReady } = watched()
    await isReady
    await writeFile(join(directory, 'second.yaml'), 'mode: nftables\n')
    await symlink(join(directory, 'second.yaml'), `${path}.new`)
    const onLooker = watch(directory)
    const seen = once(onLooker, 'change')
    await rename(`${path}.new`, path)
    await seen
    onLooker.close()
    stop.abort()
    expect(await ended).toBeUndefined()
  },
)

test('a file that is gone is an error that names it', async () => {
  await rm(path)
  const error = await watchConfigFile({ file: { path, content } }, stop.signal)
  expect(error?.message).toContain(path)
})

function watched() {
  let heard: () => void = () => {}
  const nextIgnored = () => new Promise<void>((resolve) => (heard = resolve))
  let begin: () => void = () => {}
  const isReady = new Promise<void>((resolve) => (begin = resolve))
  const ended = watchConfigFile(
    { file: { path, content }, onWatching: () => begin(), onIgnored: () => heard() },
    stop.signal,
  )
  return { ended, isReady, nextIgnored }
}
