import { spawnSync } from 'node:child_process'
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { Cluster } from './testing/cluster.ts'
import { DaemonProcess, nodeName } from './testing/daemon-process.ts'
import { runFairlead } from './testing/fairlead-process.ts'
import { manifest, node, service, slice } from './testing/objects.ts'

/** An endpoint that a node may use. */
const pod = { addresses: ['10.64.0.1'] }

test.concurrent('--version names the release of kube-proxy that this stands in for, and its own', async () => {
  for (const args of [['--version'], ['version']])
    expect(await runFairlead(args)).toEqual({
      code: 0,
      signal: null,
      stdout: expect.stringMatching(/^Kubernetes v1\.36\.\d+ \(Fairlead \d+\.\d+\.\d+\)\n$/),
      stderr: '',
    })
})

test.concurrent('a program that was not built says how to build it', async () => {
  await using folder = await TemporaryFolder.make()
  await mkdir(join(folder.path, 'bin'))
  const program = join(folder.path, 'bin', 'fairlead.mjs')
  await copyFile(new URL('../../bin/fairlead.js', import.meta.url), program)
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, 'demo'], { encoding: 'utf8' })
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: '',
    stderr: `Error: Fairlead is not built yet: run "npm ci && npm run build" in ${folder.path}/\n`,
  })
})

test.concurrent.each([
  { args: ['help'], names: ['--proxy-mode', 'fairlead demo', 'fairlead help'] },
  { args: ['help', 'render'], names: ['fairlead render', '--node-address'] },
  { args: ['help', 'kube'], names: ['to-api'] },
  { args: ['--help'], names: ['--proxy-mode', '--objects', '--state-dir', 'fairlead demo', 'fairlead render'] },
  { args: ['doctor', '--help'], names: ['fairlead doctor', '--before-start', '--fail-on', '--server', '-o, --output'] },
  { args: ['demo', '--help'], names: ['--api-port', '--data-dir'] },
  { args: ['render', '--help'], names: ['--proxy-mode', '--objects', '--node-address', '--family'] },
])('fairlead $args prints its flags', async ({ args, names }) => {
  const { code, stdout, stderr } = await runFairlead(args)
  expect([code, stderr]).toEqual([0, ''])
  for (const name of names) expect(stdout).toContain(name)
})

test.concurrent('--write-config-to writes a file that --config takes, and which says the same', async () => {
  await using folder = await TemporaryFolder.make()
  const [first, second] = [join(folder.path, 'first.yaml'), join(folder.path, 'second.yaml')]
  const flags = ['--proxy-mode=userspace', '--hostname-override=node1', '--nodeport-addresses=10.0.0.0/8']
  expect(await runFairlead([...flags, `--write-config-to=${first}`])).toMatchObject({ code: 0, stderr: '' })
  const config: unknown = parse(await readFile(first, 'utf8'))
  expect(config).toMatchObject({
    kind: 'KubeProxyConfiguration',
    mode: 'userspace',
    hostnameOverride: 'node1',
    nodePortAddresses: ['10.0.0.0/8'],
  })
  expect(await runFairlead([`--config=${first}`, `--write-config-to=${second}`])).toMatchObject({ code: 0 })
  expect(await readFile(second, 'utf8')).toBe(await readFile(first, 'utf8'))
})

test.concurrent('--init-only prepares the machine for the node that the API server knows, and ends', async () => {
  await using cluster = await Cluster.start(node(nodeName))
  await using daemon = await DaemonProcess.start('--init-only', `--kubeconfig=${cluster.kubeconfig}`)
  expect(await daemon.process.ended()).toEqual({ code: 0, signal: null })
})

test.concurrent('render says what must be there before iptables-restore takes the rules', async () => {
  await using folder = await TemporaryFolder.make()
  await folder.write('objects.yaml', manifest(service('web', 80, { clusterIP: '10.96.0.10' }), slice('web', 8080, pod)))
  const args = ['render', '--proxy-mode=iptables', `--objects=${folder.path}`, '--family=ipv4']
  const { stdout, stderr } = await runFairlead(args)
  expect(stdout).toMatch(/^\*filter\n/m)
  expect(stderr).toContain('run (unless already done): nfacct add ct_state_invalid_dropped_pkts')
})

test.concurrent('render prints the plan on stdout and diagnostics on stderr', async () => {
  await using folder = await TemporaryFolder.make()
  const web = service('web', 80, { clusterIP: '10.96.0.10' })
  const bad = service('bad', 80, { clusterIP: '10.96.0.300' })
  await folder.write('objects.yaml', manifest(web, slice('web', 8080, pod), bad))
  const args = ['render', '--proxy-mode=userspace', `--objects=${folder.path}`, '--family=ipv4']
  const { code, stdout, stderr } = await runFairlead(args)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^-A KUBE-PORTALS-CONTAINER .* -d 10\.96\.0\.10 --dport 80 -j REDIRECT --to-ports 40000$/m)
  expect(stdout).toMatch(
    /^# default\/web:http\/TCP proxy-port 0\.0\.0\.0:40000 -> 10\.64\.0\.1:8080 \(clients keep their address\)$/m,
  )
  expect(stderr).toMatch(/^warning: .*default\/bad.*10\.96\.0\.300/)
})

test.concurrent('render reads standard input, and names the family and part of each section', async () => {
  const stdin = manifest(service('web', 80, { clusterIP: '10.96.0.10' }), slice('web', 8080, pod))
  const args = ['render', '--proxy-mode=userspace', '--objects=-', '--node-address=10.0.0.1']
  const all = await runFairlead(args, { stdin })
  expect([all.code, all.stderr]).toEqual([0, ''])
  expect(all.stdout.split('\n').filter((line) => line.startsWith('# ipv'))).toEqual([
    '# ipv4, part iptables',
    '# ipv4, part listeners',
    '# ipv4, part routing',
    '# ipv6, part iptables',
    '# ipv6, part listeners',
    '# ipv6, part routing',
  ])
  const one = await runFairlead([...args, '--family=ipv4', '--part=iptables'], { stdin })
  expect(one.stdout).toMatch(/^\*/)
  expect(all.stdout).toContain(`# ipv4, part iptables\n${one.stdout}# ipv4, part listeners\n`)
})

test.concurrent('what is wrong with standard input is said with its line', async () => {
  const args = ['render', '--proxy-mode=nftables', '--objects=-']
  const { code, stdout, stderr } = await runFairlead(args, { stdin: 'kind: Service\nports: [\nspec: {}\n' })
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^Error: standard input:3:\d+: /)
})

test.concurrent('the manifests in examples are as good as the README says', async () => {
  const onANode = fileURLToPath(new URL('../../examples/manifests/on-a-node.yaml', import.meta.url))
  const args = ['render', '--proxy-mode=nftables', `--objects=${onANode}`, '--node-name=node1', '--family=ipv4']
  const { code, stdout, stderr } = await runFairlead(args)
  expect([code, stderr]).toEqual([0, ''])
  for (const address of ['10.96.0.20', '10.244.1.5', '10.244.2.7', '30080']) expect(stdout).toContain(address)
})
