import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { fileOf } from '../../config/testing/command-line.ts'
import { memoryHost, memoryProgram } from '../host/testing/memory-host.ts'
import type { Comparison } from './compare.ts'
import { migrateCommand } from './migrate-command.ts'

const kubeadm = readFileSync(new URL('testing/kubeadm.yaml', import.meta.url), 'utf8')

async function migrate(file: string, ...args: readonly string[]) {
  const program = memoryProgram(memoryHost({ files: { '/given.yaml': file } }))
  const errors: string[] = []
  const code = await migrateCommand(['--check', '--from=/given.yaml', ...args], {
    ...program,
    err: (text) => void errors.push(text),
  })
  return { code, printed: program.printed(), error: errors.join('') }
}

async function comparison(file: string, ...args: readonly string[]): Promise<Comparison> {
  return JSON.parse((await migrate(file, '-o', 'json', ...args)).printed) as Comparison
}

async function decisions(file: string, ...args: readonly string[]): Promise<readonly string[]> {
  const { differences } = await comparison(file, ...args)
  return differences.filter(({ attention }) => attention === 'decide').map(({ name }) => name)
}

describe('what kubeadm has', () => {
  test('needs no decision in the same mode', async () => {
    const { code, printed } = await migrate(kubeadm)
    expect(code).toBe(0)
    expect(printed).toMatch(
      /^kube-proxy in iptables mode → Fairlead in iptables mode\nread: ConfigMap kube-system\/kube-proxy, key config.conf, DaemonSet kube-system\/kube-proxy\n/,
    )
    expect(printed).toMatch(/\nnothing needs a decision; \d+ differences need none\n$/)
  })

  test('in nftables mode needs a decision about node ports, the firewall and old rules', async () => {
    const { code, printed } = await migrate(kubeadm, '--to-mode=nftables')
    expect(code).toBe(1)
    expect(printed).toContain(`Needs a decision (4)
  node-ports-on-primary-addresses
    now   nodePortAddresses is not set: node ports answer on all addresses of the node.
`)
    expect(printed).toContain('fairlead --cleanup --only-own-tables')
    expect(
      await decisions(
        kubeadm.replace('nodePortAddresses: null', 'nodePortAddresses: [10.0.0.0/8]'),
        '--to-mode=nftables',
      ),
    ).toEqual(['no-node-ports-on-localhost', 'no-holes-in-the-firewall', 'rules-in-iptables-legacy'])
  })

  test('keeps the name of the node from the flags', async () => {
    expect((await comparison(kubeadm)).same).toContain('--hostname-override')
  })

  test('is not complete without the ConfigMap', async () => {
    const daemonSet = kubeadm.slice(kubeadm.indexOf('  - apiVersion: apps/v1')).replace('  - api', '    api')
    const { code, error } = await migrate(daemonSet)
    expect(code).toBe(2)
    expect(error).toContain(
      'kube-proxy takes its configuration from a file (--config=/var/lib/kube-proxy/config.conf): give that too',
    )
  })
})

describe('a file', () => {
  test('with a field that kube-proxy only warns of is refused, with its line', async () => {
    const { differences } = await comparison(
      fileOf('mode: iptables\nudpIdleTimeout: 250ms\nconntrack:\n  maxPerCpu: 1'),
    )
    expect(differences.slice(0, 2)).toMatchObject([
      {
        name: 'udpIdleTimeout',
        attention: 'decide',
        kubeProxy: 'A warning; it is ignored.',
        fairlead: expect.stringMatching(/line \d+: field "udpIdleTimeout" is of an older kube-proxy/) as string,
      },
      {
        name: 'conntrack.maxPerCpu',
        fairlead: expect.stringContaining('did you mean "conntrack.maxPerCore"?') as string,
      },
    ])
  })

  test.each([
    ['logging: { options: { text: { infoBufferSize: 12E } } }', 'logging.options.text.infoBufferSize', 'at most 8Pi'],
    ['mode: ipvs\nipvs: { syncPeriod: 3h, minSyncPeriod: 2h }', 'refused value', 'less than or equal to 1h0m0s'],
  ])('with a value that only Fairlead refuses says so: %s', async (fields, name, problem) => {
    const { differences } = await comparison(fileOf(fields))
    expect(differences[0]).toMatchObject({
      name,
      attention: 'decide',
      kubeProxy: 'kube-proxy 1.36 accepts it.',
      fairlead: expect.stringContaining(problem) as string,
    })
  })

  test.each([
    ['mode: 5', 'mode'],
    ['conntrack: { min: many }', 'conntrack.min'],
    ['nodePortAddresses: [10.0.0.0/8, {}]', 'nodePortAddresses[1]'],
    ['bindAddress: somewhere', 'refused value'],
  ])('with a value that kube-proxy refuses, too, says so: %s', async (fields, name) => {
    const { differences } = await comparison(fileOf(fields))
    expect(differences[0]).toMatchObject({ name, kubeProxy: 'kube-proxy 1.36 does not start with it either.' })
  })

  test('with other documents before it, as kubeadm takes it, keeps its lines', async () => {
    const file = `apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n---\n${fileOf('mode: ipvs\nmodus: x')}`
    const { from, differences } = await comparison(file)
    expect([from, differences[0]?.fairlead]).toEqual(['ipvs', expect.stringContaining('line 7: unknown field "modus"')])
  })

  test('with a feature gate that nobody knows is refused', async () => {
    const { differences } = await comparison(fileOf('featureGates: { SupportIPVSProxyMode: true }'))
    expect(differences[0]).toMatchObject({
      attention: 'decide',
      fairlead: expect.stringContaining('unrecognized feature gate: SupportIPVSProxyMode') as string,
    })
  })

  test('with a mode that nobody knows is refused', async () => {
    const { differences, from } = await comparison(fileOf('mode: ebpf'))
    expect(from).toBe('iptables')
    expect(differences[0]?.fairlead).toContain('mode "ebpf" is unknown')
  })

  test('that loses its section in another mode says what to write', async () => {
    const { differences } = await comparison(
      fileOf('mode: iptables\niptables: { masqueradeAll: true }'),
      '--to-mode=nftables',
    )
    expect(differences.find(({ name }) => name === 'iptables.masqueradeAll')).toMatchObject({
      attention: 'decide',
      action: 'To keep it: nftables.masqueradeAll: true.',
    })
  })

  test('of ipvs mode names its scheduler, and what becomes of open connections', async () => {
    const file = fileOf('mode: ipvs\nipvs: { scheduler: sh, strictARP: true }')
    expect(await decisions(file)).toEqual([])
    expect(await decisions(file, '--to-mode=nftables')).toEqual(
      expect.arrayContaining(['ipvs.scheduler', 'ipvs-open-connections', 'ipvs-local-policy']),
    )
  })

  test('of the userspace mode that kube-proxy had finds the one of Fairlead', async () => {
    const { from, to, differences } = await comparison(fileOf('mode: userspace'))
    expect([from, to]).toEqual(['userspace', 'userspace'])
    expect(differences.map(({ name }) => name)).toContain('old-userspace-half-open')
  })

  test('of a Windows node stays there', async () => {
    const file = fileOf('winkernel: { networkName: cbr0, sourceVip: 10.0.0.2 }')
    expect(await comparison(file)).toMatchObject({ from: 'kernelspace', to: 'kernelspace' })
    const { code, error } = await migrate(file, '--to-mode=nftables')
    expect([code, error]).toEqual([2, expect.stringContaining('kernelspace is for Windows')])
  })
})

describe('a command line', () => {
  test('of a static pod that starts it in a shell is found', async () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'kube-proxy', namespace: 'kube-system' },
      spec: {
        containers: [
          {
            name: 'kube-proxy',
            command: [
              '/bin/sh',
              '-c',
              'exec kube-proxy --master=https://a --proxy-mode=ipvs --cleanup-ipvs --v=2 1>>/var/log/kube-proxy.log 2>&1',
            ],
          },
        ],
      },
    }
    const found = await comparison(JSON.stringify(pod))
    expect(found).toMatchObject({
      from: 'ipvs',
      sources: ['Pod kube-system/kube-proxy'],
      same: ['--master', '--proxy-mode', '--v'],
    })
    expect(found.differences[0]).toMatchObject({
      name: '--cleanup-ipvs',
      fairlead: expect.stringContaining('of an older kube-proxy') as string,
    })
  })

  test('of k3s is found in its configuration', async () => {
    expect(
      await comparison('kube-proxy-arg:\n  - proxy-mode=nftables\n  - nodeport-addresses=10.0.0.0/8\n'),
    ).toMatchObject({
      from: 'nftables',
      same: ['--proxy-mode', '--nodeport-addresses'],
    })
  })

  test('with a value that cannot be read is refused', async () => {
    expect(await decisions('kube-proxy-arg: [conntrack-min=many]')).toContain('flags')
  })
})

describe('no answer', () => {
  test.each([
    ['apiVersion: v1\nkind: Secret\n', 'no configuration of kube-proxy in /given.yaml'],
    ['{ a: [', '/given.yaml is not YAML'],
    [`${fileOf('mode: ipvs')}\n---\n${fileOf('mode: iptables')}`, 'more than one kube-proxy in /given.yaml'],
  ])('for %s', async (file, problem) => {
    const { code, error } = await migrate(file)
    expect([code, error]).toEqual([2, expect.stringContaining(problem)])
  })

  test.each([
    [['--from=/nowhere'], 'cannot read /nowhere'],
    [['--to-mode=xdp'], 'invalid argument'],
  ])('for %s', async (args, problem) => {
    const { code, error } = await migrate(kubeadm, ...args)
    expect([code, error]).toEqual([2, expect.stringContaining(problem)])
  })

  test('without --check, which is all there is', async () => {
    const program = memoryProgram(memoryHost({}))
    const errors: string[] = []
    const code = await migrateCommand(['--from=-'], { ...program, err: (text) => void errors.push(text) })
    expect([code, errors.join('')]).toEqual([2, expect.stringContaining('add --check')])
  })
})
