/** Real kubectl against the embedded API server: what a person types, and what it prints. */
import { execFile, spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../core/clock.ts'
import { silentLogger } from '../core/logger.ts'
import type { ApiServer } from './api-server.ts'
import { startApiServer } from './api-server.ts'
import type { ApiObject } from './resource.ts'
import { allResources } from './resources/all-resources.ts'

const program = process.env['KUBECTL'] ?? 'kubectl'
const clientVersion = versionOf(program)
const reason = clientVersion === undefined ? ` (skipped: no ${program} found; install it or set KUBECTL)` : ''

interface Output {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

let server: ApiServer
let folder: string

function run(args: readonly string[], input = ''): Promise<Output> {
  return new Promise((resolve) => {
    const child = execFile(program, args, { env: environment() }, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ exitCode, stdout, stderr })
    })
    child.stdin?.end(input)
  })
}

/** The command must succeed. */
async function kubectl(command: string, input?: unknown): Promise<string> {
  const text = input === undefined ? '' : typeof input === 'string' ? input : JSON.stringify(input)
  const { exitCode, stdout, stderr } = await run(command.split(' '), text)
  if (exitCode !== 0) throw new Error(`kubectl ${command} ended with ${exitCode}: ${stderr}`)
  return stdout
}

async function refused(command: string, input?: unknown): Promise<string> {
  const { exitCode, stdout, stderr } = await run(command.split(' '), input === undefined ? '' : JSON.stringify(input))
  expect({ exitCode, stdout }).toMatchObject({ exitCode: 1 })
  return stderr
}

async function read(what: string): Promise<ApiObject> {
  return JSON.parse(await kubectl(`get ${what} -o json`)) as ApiObject
}

/** A table as a list of rows; ages differ from run to run. */
function rows(table: string): string[][] {
  const lines = table.trimEnd().split('\n')
  return lines
    .map((line) => line.trim().split(/\s{2,}/))
    .map((row) => row.map((cell) => cell.replace(/^\d+s$/, '<age>')))
}

function environment(): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: folder,
    KUBECONFIG: join(folder, 'kubeconfig'),
    KUBECACHEDIR: join(folder, 'cache'),
  }
}

function service(targetPort: number): object {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', labels: { app: 'web' } },
    spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort }] },
  }
}

describe.skipIf(clientVersion === undefined)(`kubectl ${clientVersion ?? ''}${reason}`, () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fairlead-kubectl-'))
    server = await startApiServer({ resources: allResources, clock: systemClock, log: silentLogger })
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'embedded', cluster: { server: server.url } }],
      contexts: [{ name: 'embedded', context: { cluster: 'embedded', user: '' } }],
      'current-context': 'embedded',
    }
    await writeFile(join(folder, 'kubeconfig'), JSON.stringify(config))
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })
  beforeEach(async () => {
    await kubectl('delete service --all --wait=false')
  })

  describe('creating', () => {
    test('a Service of each type from arguments', async () => {
      expect(await kubectl('create service clusterip plain --tcp=80:8080')).toBe('service/plain created\n')
      expect(await kubectl('create service nodeport open --tcp=80 --node-port=30123')).toBe('service/open created\n')
      expect(await kubectl('create service loadbalancer balanced --tcp=80')).toBe('service/balanced created\n')
      expect(await kubectl('create service externalname far --external-name=example.com')).toBe('service/far created\n')
      const table = rows(await kubectl('get services'))
      expect(table[0]).toEqual(['NAME', 'TYPE', 'CLUSTER-IP', 'EXTERNAL-IP', 'PORT(S)', 'AGE'])
      expect(table.find(([name]) => name === 'open')).toEqual([
        'open',
        'NodePort',
        expect.stringMatching(/^10\.96\./) as string,
        '<none>',
        '80:30123/TCP',
        '<age>',
      ])
      expect(table.find(([name]) => name === 'balanced')?.[3]).toBe('<pending>')
      expect(table.find(([name]) => name === 'far')?.slice(1, 5)).toEqual([
        'ExternalName',
        '<none>',
        'example.com',
        '<none>',
      ])
    })

    test('a namespace, and Services in it that go with it', async () => {
      await kubectl('create namespace extra')
      await kubectl('-n extra create service clusterip inside --tcp=80')
      expect(await kubectl('-n extra get service -o name')).toBe('service/inside\n')
      await kubectl('delete namespace extra')
      expect(await refused('-n extra get service inside')).toContain('not found')
    })

    test('what is wrong is refused with the field and the reason', async () => {
      const wrong = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'x' }, spec: { ports: [{ port: 70_000 }] } }
      expect(await refused('create -f -', wrong)).toContain(
        'The Service "x" is invalid: \n' +
          '* spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive\n' +
          '* spec.ports[0].targetPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
      )
      const unknown = { ...wrong, spec: { ports: [{ port: 80 }], colour: 'red' } }
      expect(await refused('create -f -', unknown)).toMatch(/unknown field "(spec\.)?colour"/)
    })
  })

  describe('apply', () => {
    test('creates, leaves alone and changes, by way of the client', async () => {
      expect(await kubectl('apply -f -', service(8080))).toBe('service/web created\n')
      expect(await kubectl('apply -f -', service(8080))).toBe('service/web unchanged\n')
      const before = await read('service web')
      expect(await kubectl('apply -f -', service(9090))).toBe('service/web configured\n')
      expect(await read('service web')).toMatchObject({
        metadata: { uid: before.metadata.uid },
        spec: { ...(before['spec'] as object), ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 9090 }] },
      })
    })

    test('removes what was dropped from the file', async () => {
      await kubectl('apply -f -', { ...service(1), metadata: { name: 'web', labels: { a: '1', b: '2' } } })
      await kubectl('apply -f -', { ...service(1), metadata: { name: 'web', labels: { a: '1' } } })
      expect(await kubectl('get service web -o jsonpath={.metadata.labels}')).toBe('{"a":"1"}')
    })

    test('by way of the server changes, conflicts and takes over', async () => {
      const apply = 'apply --server-side -f -'
      expect(await kubectl(apply, service(8080))).toBe('service/web serverside-applied\n')
      const first = await read('service web --show-managed-fields')
      expect(await kubectl(apply, service(8080))).toBe('service/web serverside-applied\n')
      expect(await read('service web --show-managed-fields')).toEqual(first)
      await kubectl(apply, service(8081))
      expect(await kubectl('get service web -o jsonpath={.spec.ports[0].targetPort}')).toBe('8081')
      expect(await refused(`${apply} --field-manager=other`, service(9090))).toContain(
        'Apply failed with 1 conflict: conflict with "kubectl": .spec.ports[port=80,protocol="TCP"].targetPort',
      )
      await kubectl(`${apply} --field-manager=other --force-conflicts`, service(9090))
      expect(await kubectl('get service web -o jsonpath={.spec.ports[0].targetPort}')).toBe('9090')
    })

    test('moves from the client to the server without conflicts', async () => {
      await kubectl('apply -f -', service(8080))
      expect(await kubectl('apply --server-side -f -', service(9090))).toBe('service/web serverside-applied\n')
      expect(await kubectl('get service web -o jsonpath={.spec.ports[0].targetPort}')).toBe('9090')
    })

    test('can be tried without effect', async () => {
      expect(await kubectl('apply --dry-run=server -f -', service(8080))).toBe('service/web created (server dry run)\n')
      expect(await refused('get service web')).toContain('services "web" not found')
    })
  })

  describe('diff', () => {
    test.each(['diff -f -', 'diff --server-side -f -'])('%s shows the change and nothing else', async (command) => {
      await kubectl(command.includes('--server-side') ? 'apply --server-side -f -' : 'apply -f -', service(8080))
      expect(await run(command.split(' '), JSON.stringify(service(8080)))).toEqual({
        exitCode: 0,
        stdout: '',
        stderr: '',
      })
      const { exitCode, stdout } = await run(command.split(' '), JSON.stringify(service(9090)))
      expect(exitCode).toBe(1)
      const changed = stdout.split('\n').filter((line) => /^[-+](?![-+])/.test(line))
      const ofAnnotation = (line: string) => line.includes('{"apiVersion":"v1"')
      expect(changed.filter((line) => !ofAnnotation(line))).toEqual(['-    targetPort: 8080', '+    targetPort: 9090'])
    })

    test('of an object that is not there shows it without a version', async () => {
      const { exitCode, stdout } = await run(['diff', '-f', '-'], JSON.stringify(service(8080)))
      expect(exitCode).toBe(1)
      expect(stdout).toContain('+  name: web')
      expect(stdout).not.toContain('resourceVersion')
    })
  })

  describe('changing', () => {
    beforeEach(async () => {
      await kubectl('apply -f -', service(8080))
    })

    test('by a patch of each type', async () => {
      const strategic = { spec: { ports: [{ port: 443, name: 'https' }] } }
      await run(['patch', 'service', 'web', '-p', JSON.stringify(strategic)])
      await run(['patch', 'service', 'web', '--type=merge', '-p', '{"spec":{"sessionAffinity":"ClientIP"}}'])
      const operations = [{ op: 'replace', path: '/spec/ports/0/targetPort', value: 8443 }]
      await run(['patch', 'service', 'web', '--type=json', '-p', JSON.stringify(operations)])
      expect(await read('service web')).toMatchObject({
        spec: {
          ports: [
            { name: 'https', port: 443, targetPort: 8443 },
            { name: 'http', port: 80, targetPort: 8080 },
          ],
          sessionAffinity: 'ClientIP',
          sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } },
        },
      })
    })

    test('by label and annotation, which selectors find', async () => {
      expect(await kubectl('label service web tier=front')).toBe('service/web labeled\n')
      expect(await kubectl('annotate service web note=x')).toMatch(/^service\/web annotate/)
      expect(await kubectl('get services -l tier=front,app!=other -o name')).toBe('service/web\n')
      expect(await kubectl('get services -l tier=back -o name')).toBe('')
      expect(await kubectl('get services --field-selector metadata.name=web,spec.type=ClusterIP -o name')).toBe(
        'service/web\n',
      )
      await kubectl('label service web tier-')
      expect(await kubectl('get services -l tier -o name')).toBe('')
    })

    test('by replacing, which refuses an old version', async () => {
      const object = await read('service web')
      await kubectl('label service web changed=yes')
      expect(await refused('replace -f -', object)).toContain('the object has been modified')
      expect(await kubectl('replace -f -', await read('service web'))).toBe('service/web replaced\n')
    })

    test('by deleting', async () => {
      expect(await kubectl('delete service web')).toContain('service "web" deleted')
      expect(await refused('delete service web')).toContain('services "web" not found')
    })
  })

  describe('looking', () => {
    beforeEach(async () => {
      await kubectl('apply -f -', service(8080))
      await kubectl('apply -f -', {
        apiVersion: 'discovery.k8s.io/v1',
        kind: 'EndpointSlice',
        metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        ports: [{ name: 'http', port: 8080 }],
        endpoints: [{ addresses: ['10.64.0.1'], conditions: { ready: true }, nodeName: 'n1' }],
      })
    })

    test('at a table of several kinds, wide', async () => {
      const table = await kubectl('get services,endpointslices -o wide')
      expect(table).toMatch(/service\/web +ClusterIP +10\.96\.\S+ +<none> +80\/TCP +\d+s +app=web/)
      expect(table).toMatch(/endpointslice\.discovery\.k8s\.io\/web-1 +IPv4 +8080 +10\.64\.0\.1 +\d+s/)
      expect(rows(await kubectl('get servicecidrs'))).toEqual([
        ['NAME', 'CIDRS', 'AGE'],
        ['kubernetes', expect.stringContaining('10.96.0.0/') as string, '<age>'],
      ])
    })

    test('at an object as YAML', async () => {
      expect(await kubectl('get service web -o yaml')).toContain('spec:\n  clusterIP: 10.96.')
    })

    test('at a description with endpoints and events', async () => {
      await kubectl('apply -f -', {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'web.1', namespace: 'default' },
        involvedObject: { kind: 'Service', namespace: 'default', name: 'web', uid: '' },
        reason: 'Ignored',
        message: 'port 0 is not usable',
        type: 'Warning',
      })
      expect(await kubectl('describe endpointslice web-1')).toMatch(/Addresses: +10\.64\.0\.1[\s\S]*NodeName: +n1/)
      expect(await kubectl('describe service web')).toMatch(/Port: +http +80\/TCP\nTargetPort: +8080\/TCP/)
      expect(await kubectl('get events')).toMatch(/Warning +Ignored +service\/web +port 0 is not usable/)
    })

    test('at a node', async () => {
      await kubectl('apply -f -', {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name: 'n1', labels: { 'node-role.kubernetes.io/worker': '' } },
        spec: { podCIDR: '10.64.0.0/24' },
        status: { conditions: [{ type: 'Ready', status: 'True' }], capacity: { cpu: '2' } },
      })
      expect(rows(await kubectl('get nodes'))).toEqual([
        ['NAME', 'STATUS', 'ROLES', 'AGE', 'VERSION'],
        ['n1', 'Ready', 'worker', '<age>'],
      ])
      expect(await kubectl('describe node n1')).toMatch(/PodCIDR: +10\.64\.0\.0\/24/)
    })

    test('at the fields of a kind', async () => {
      expect(await kubectl('explain service.spec.ports')).toMatch(/targetPort\s+<[\s\S]*Number or name of the port/)
      expect(await kubectl('explain endpointslice.endpoints.conditions')).toContain('ready')
    })

    test('at what they may do', async () => {
      expect(await kubectl('auth can-i list services')).toBe('yes\n')
    })

    test('at what the server offers', async () => {
      expect(rows(await kubectl('api-resources --no-headers')).map(([name]) => name)).toEqual(
        expect.arrayContaining(['services', 'endpointslices', 'nodes', 'namespaces', 'servicecidrs', 'events']),
      )
    })

    test('while it changes', async () => {
      const child = spawn(program, ['get', 'service', 'web', '-w', '--no-headers'], { env: environment() })
      try {
        const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
        expect((await lines.next()).value).toMatch(/^web +ClusterIP/)
        await run(['patch', 'service', 'web', '-p', '{"spec":{"type":"NodePort"}}'])
        expect((await lines.next()).value).toMatch(/^web +NodePort +\S+ +<none> +80:3\d+\/TCP/)
      } finally {
        child.kill()
      }
    })
  })
})

function versionOf(command: string): string | undefined {
  const { status, stdout } = spawnSync(command, ['version', '--client', '-o', 'json'], { encoding: 'utf8' })
  if (status !== 0) return undefined
  const { clientVersion } = JSON.parse(stdout) as { clientVersion?: { gitVersion?: string } }
  return clientVersion?.gitVersion
}
