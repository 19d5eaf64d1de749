/** What the kernelspace mode sends to a real Jaeger. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { freePorts } from '../cluster/testing/free-ports.ts'
import { Jaeger, jaegerPorts, linksOf, shapeBelow, tag } from '../cluster/testing/jaeger.ts'
import { ServerProcess } from '../cluster/testing/server-process.ts'
import { hooks, tracingPage } from '../cluster/testing/traced-site.ts'
import { service, slice } from '../e2e/testing/objects.ts'
import { eventually } from './testing/eventually.ts'
import { networkName, StandInHns } from './testing/stand-in-hns.ts'
import { WindowsRig } from './testing/windows-rig.ts'
import { missingTools } from './testing/wine.ts'

/** Windows keeps no flows that somebody could delete. */
const windowsHooks = hooks.replace('\n  delete stale UDP flows', '')
const firstTree = `syncProxyRules
  plan
  read
  compare
  apply
    commit${windowsHooks}`
const changeTree = `syncProxyRules
  read
  plan
  apply
    commit${windowsHooks}`

describe.skipIf(missingTools !== undefined)(`on Windows${missingTools ?? ''}`, () => {
  test('kernelspace: in Jaeger the trees are those of the page', async () => {
    await using folder = await TemporaryFolder.make()
    const { jaeger, endpoint } = await startJaeger(folder)
    await using _running = jaeger
    await using rig = await WindowsRig.make('kernelspace', await StandInHns.make())
    const serve = (ip: string) =>
      rig.write('web', service('web', 80, { clusterIP: '10.96.0.10' }), {
        ...slice('web', 8080),
        endpoints: [{ addresses: [ip], nodeName: 'elsewhere' }],
      })
    await serve('10.244.2.7')
    await using _daemon = await rig.start(`--network-name=${networkName}`, `--otlp-endpoint=${endpoint}`)
    const sync = (trigger: string) =>
      eventually(() => {
        const found = jaeger
          .traces('fairlead')
          .flatMap((trace) => trace.spans.map((root) => ({ trace, root })))
          .find(({ root }) => tag(root, 'trigger') === trigger && tag(root, 'network.type') === 'ipv4')
        if (found === undefined) throw new Error(`Jaeger has no sync with the trigger ${trigger}`)
        return found
      })
    const first = await sync('start')
    expect(shapeBelow(first.trace, [first.root]).join('\n')).toBe(firstTree)
    await serve('10.244.2.8')
    const change = await sync('change')
    expect(shapeBelow(change.trace, [change.root]).join('\n')).toBe(changeTree)
    const causes = jaeger.traces('fairlead').filter(({ traceID }) => linksOf(change.root).includes(traceID))
    expect(causes.flatMap(({ spans }) => spans.map((span) => span.operationName))).toContain('OnEndpointSliceUpdate')
    for (const tree of [firstTree, changeTree]) expect(tracingPage).toContain(tree)
  })
})

/** On loopback, which Wine shares with this machine. */
async function startJaeger(folder: TemporaryFolder) {
  const ports = await freePorts(...jaegerPorts)
  const log = join(folder.path, 'jaeger.log')
  const jaeger = await Jaeger.start({
    ip: '127.0.0.1',
    ports,
    run: (program, args) => {
      const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 26 })
      if (status !== 0) throw new Error(`${program} failed: ${stderr}`)
      return stdout
    },
    start: (program, args) => new LoggedProcess(program, args, log),
  })
  return { jaeger, endpoint: `http://127.0.0.1:${ports.otlpHttp}` }
}

class LoggedProcess extends ServerProcess {
  readonly #log: string

  constructor(program: string, args: readonly string[], log: string) {
    super('Jaeger', program, args, log)
    this.#log = log
  }

  get output(): string {
    return readFileSync(this.#log, 'utf8')
  }
}
