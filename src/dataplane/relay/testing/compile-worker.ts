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
  /** The same, but a thread throws, or loops for ever, when its number, or `all`, comes through the channel. */
  readonly failing: { readonly program: URL; readonly channel: string }
}

export async function compileWorker(): Promise<CompiledWorker> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-relay-worker-'))
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
  await promisify(execFile)(compiler, ['-p', settings, '--outDir', directory])
  const program = pathToFileURL(join(directory, 'dataplane/relay/threads/relay-worker.js'))
  const failing = join(directory, 'failing-worker.js')
  await writeFile(failing, failingWorker(program, directory))
  return {
    program,
    failing: { program: pathToFileURL(failing), channel: directory },
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  }
}

function failingWorker(program: URL, channel: string): string {
  return `
    import { BroadcastChannel, workerData } from 'node:worker_threads'
    import ${JSON.stringify(program.href)}
    const fail = {
      die: () => setImmediate(() => { throw new Error('told to') }),
      hang: () => { for (;;); },
    }
    new BroadcastChannel(${JSON.stringify(channel)}).onmessage = ({ data: { how, who } }) => {
      if (who === 'all' || who === workerData.thread) fail[how]()
    }`
}
