/** What the daemon writes about a connection at -v=4 is the same, whichever engine carries it. */
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startHttpBackend } from '../../src/cli/demo/sample-backends.ts'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { whoAnswers } from './testing/clients.ts'
import { DaemonProcess } from './testing/daemon-process.ts'
import { eventually } from './testing/eventually.ts'
import { manifest, service, slice } from './testing/objects.ts'

const engine = new URL(`../../dist/native/${process.platform}-${process.arch}/fairlead-relay`, import.meta.url)
const isBuilt = existsSync(engine)

test.runIf(isBuilt)(
  `the native engine and Node.js tell of a connection in the same words${isBuilt ? '' : ' (npm run build has not built the engine)'}`,
  async () => {
    const [natively, onNode] = [await linesAbout('native'), await linesAbout('node')]
    expect(natively).toEqual(onNode)
    expect(natively.map((line) => /"([^"]*)"/.exec(line)?.[1])).toEqual([
      'Accepted TCP connection from remote',
      'NextEndpoint for service',
      'Mapped service to endpoint',
      'Creating proxy between remote and local addresses',
      'Copying remote address bytes',
      'Copying remote address bytes',
      'Copied remote address bytes',
      'Copied remote address bytes',
    ])
  },
  120_000,
)

/** Those about one exchange, without what differs from one to the next. */
async function linesAbout(engineName: string): Promise<readonly string[]> {
  await using folder = await TemporaryFolder.make()
  await using backend = await startHttpBackend('blue')
  const { port } = await freePorts('port')
  await folder.write(
    'web.yaml',
    manifest(service('web', port, { clusterIP: '10.96.0.10' }), slice('web', backend.port)),
  )
  await using daemon = await DaemonProcess.start(`--objects=${folder.path}`, `--userspace-engine=${engineName}`, '-v=4')
  await eventually(async () => expect(await whoAnswers(`http://127.0.0.1:${port}`)).toBe('blue'))
  await daemon.process.says(/Copied remote address bytes.*from backend/)
  const { stdout, stderr } = daemon.process
  const lines = (stdout + stderr)
    .split('\n')
    .filter((line) => /"(?:Accepted|NextEndpoint|Mapped|Creating|Cop)/.test(line))
  return lines.map((line) => line.replace(/^.*?\] /, '').replaceAll(/\d+/g, 'N'))
}
