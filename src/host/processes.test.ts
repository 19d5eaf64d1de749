import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { processesHere } from './processes.ts'

const isLinux = process.platform === 'linux'
const isRoot = process.getuid?.() === 0
const nobody = 65_534

async function found(users: { readonly uid?: number }) {
  const child = spawn('sleep', ['60'], { argv0: 'fairlead', stdio: 'ignore', ...users })
  try {
    await once(child, 'spawn')
    return (await processesHere()).find(({ pid }) => pid === child.pid)
  } finally {
    child.kill()
  }
}

test.skipIf(!isLinux)('a process of our own user is trusted [Linux only]', async () => {
  expect(await found({})).toMatchObject({ args: ['fairlead', '60'], parentPid: process.pid, isTrusted: true })
})

test.skipIf(!isLinux || !isRoot)('one of somebody else is not, whatever its name [root on Linux only]', async () => {
  expect(await found({ uid: nobody })).toMatchObject({ args: ['fairlead', '60'], isTrusted: false })
})
