/** Worker threads run JavaScript: compiles what they run, as the package would have it, into a directory of its own. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const compiler = join(root, 'node_modules/.bin/tsc')
const settings = fileURLToPath(new URL('./tsconfig.worker.json', import.meta.url))

export interface CompiledWorker extends AsyncDisposable {
  readonly program: URL
  /** The same, but a thread throws when its number, or `all`, comes through the channel. */
  readonly crashing: { readonly program: URL; readonly channel: string }
}

export async function compileWorker(): Promise<CompiledWorker> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-relay-worker-'))
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
  await promisify(execFile)(compiler, ['-p', settings, '--outDir', directory])
  const program = pathToFileURL(join(directory, 'dataplane/relay/relay-worker.js'))
  const crashing = join(directory, 'crashing-worker.js')
  await writeFile(crashing, crashingWorker(program, directory))
  return {
    program,
    crashing: { program: pathToFileURL(crashing), channel: directory },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  }
}

function crashingWorker(program: URL, channel: string): string {
  return `
    import { BroadcastChannel, workerData } from 'node:worker_threads'
    import ${JSON.stringify(program.href)}
    new BroadcastChannel(${JSON.stringify(channel)}).onmessage = ({ data }) => {
      if (data === 'all' || data === workerData.thread) setImmediate(() => { throw new Error('told to') })
    }`
}
