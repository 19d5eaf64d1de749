/** The programs that the core benchmark measures, ready to run. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compiledScript } from '../compiled-scripts.ts'
import type { MeasuredProgram } from './measured-process.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const peerSources = fileURLToPath(new URL('../peer/', import.meta.url))
const peerProgram = join(root, '.cache/bench/client-go-peer')

export const scripts = {
  apiServer: compiledScript(new URL('./api-server-process.ts', import.meta.url)),
  oneChange: compiledScript(new URL('./one-change-process.ts', import.meta.url)),
}

export const fairlead: MeasuredProgram = {
  name: 'Fairlead',
  command: [process.execPath, compiledScript(new URL('./fairlead-process.ts', import.meta.url))],
}

/** Needs Go, and the modules of its go.mod: from the network once, then from Go's cache. */
export async function buildClientGo(): Promise<MeasuredProgram> {
  await run('go', ['build', '-ldflags=-s -w', '-o', peerProgram, '.'], peerSources).catch((cause: unknown) => {
    throw new Error('the peer in Go could not be built: install Go 1.26, and let it reach its modules once', { cause })
  })
  return { name: 'client-go', command: [peerProgram] }
}

async function run(program: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(program, args, { cwd, env: withGo(), stdio: ['ignore', 2, 2] })
  const exitCode = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  if (exitCode !== 0) throw new Error(`"${program} ${args.join(' ')}" failed in ${cwd}: its output is above`)
}

/** Debian and the official archive put Go where a login shell finds it, but not every PATH does. */
function withGo(): NodeJS.ProcessEnv {
  return { ...process.env, PATH: `${process.env['PATH'] ?? ''}:/usr/local/go/bin:/usr/lib/go/bin` }
}
