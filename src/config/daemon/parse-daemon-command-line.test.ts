import { expect, test } from 'vitest'
import { parsed, refusal } from '../testing/command-line.ts'
import { parseDaemonCommandLine } from './parse-daemon-command-line.ts'

test('without flags the daemon serves a cluster', () => {
  expect(parsed([]).options).toMatchObject({
    action: { kind: 'serve' },
    configFile: '',
    objects: [],
    nodeAddresses: [],
  })
})

test('writing the configuration comes before cleaning up, and cleaning up before initialising', () => {
  const action = (...flags: string[]) => parsed(flags).options.action
  expect(action('--write-config-to=/x', '--cleanup', '--init-only')).toEqual({ kind: 'write-config', path: '/x' })
  expect(action('--cleanup', '--init-only')).toEqual({ kind: 'cleanup', isDryRun: false, isOwnTablesOnly: false })
  expect(action('--cleanup', '--dry-run', '--only-own-tables')).toEqual({
    kind: 'cleanup',
    isDryRun: true,
    isOwnTablesOnly: true,
  })
  expect(action('--init-only')).toEqual({ kind: 'init-only' })
})

test('--bind-address=foo is refused with the reason', () => {
  expect(refusal(['--bind-address=foo'])).toBe(
    'invalid argument "foo" for "--bind-address" flag: "foo" is not a valid IP address',
  )
})

test('an argument that is no flag is refused, an empty one is tolerated', () => {
  expect(refusal(['extra'])).toBe('fairlead does not take any arguments, got ["extra"]')
  expect(parsed(['']).kind).toBe('run')
})

test('a deprecated flag works with underscores too, and says what to use instead', () => {
  const { options, warnings } = parsed(['--metrics_port=0'])
  expect(options.given).toContain('metrics-port')
  expect(warnings).toEqual(['Flag --metrics-port has been deprecated, use --metrics-bind-address with a port instead.'])
})

test('an unknown flag is refused with the nearest known one', () => {
  expect(refusal(['--proxymode=ipvs'])).toBe('unknown flag: --proxymode, did you mean --proxy-mode?')
})

test('a Windows flag on Linux is refused with the reason', () => {
  expect(refusal(['--enable-dsr'])).toBe('unknown flag: --enable-dsr exists on win32 only: remove it on linux')
})

test('objects from files and objects from a cluster contradict each other', () => {
  expect(refusal(['--objects=a.yaml', '--kubeconfig=k'])).toMatch(/^--objects and --kubeconfig contradict/)
  expect(refusal(['--objects=a.yaml', '--master=http://localhost'])).toMatch(/^--objects and --master contradict/)
  expect(parsed(['--objects=a.yaml,b', '--objects', 'c']).options.objects).toEqual(['a.yaml', 'b', 'c'])
})

test('--dry-run without --cleanup is refused with the fix', () => {
  expect(refusal(['--dry-run'])).toMatch(/^--dry-run works only with --cleanup: add --cleanup/)
})

test('Windows can do what kube-proxy cannot do there', () => {
  expect(parsed(['--cleanup', '--dry-run'], 'win32').options.action).toMatchObject({ kind: 'cleanup', isDryRun: true })
  expect(parsed(['--init-only'], 'win32').options.action).toEqual({ kind: 'init-only' })
})

test('node addresses must be IP addresses and become canonical', () => {
  expect(parsed(['--node-address=010.0.0.1,FD00::1']).options.nodeAddresses).toEqual(['10.0.0.1', 'fd00::1'])
  expect(refusal(['--node-address=node1'])).toMatch(/"node1" is not a valid IP address/)
})

test('--version asks for the version, or changes what is reported', () => {
  expect(parseDaemonCommandLine(['--version'], 'linux')).toEqual({ kind: 'version', format: 'plain' })
  expect(parseDaemonCommandLine(['--version=raw'], 'linux')).toEqual({ kind: 'version', format: 'raw' })
  expect(parsed(['--version=false']).options.reportedVersion).toBeUndefined()
  expect(parsed(['--version=v1.36.4-eks.1']).options.reportedVersion).toBe('v1.36.4-eks.1')
  expect(refusal(['--version=v1.35.0'])).toMatch(/another build of v1\.36\.4/)
  expect(refusal(['--version=v1.36.40'])).toMatch(/another build of v1\.36\.4/)
})

test('help wins over a stray argument, a bad flag wins over help', () => {
  expect(parseDaemonCommandLine(['extra', '-h'], 'linux').kind).toBe('help')
  expect(parseDaemonCommandLine(['--help', '--nonsense'], 'linux').kind).toBe('refused')
})

test('help shows the flags of the platform, without the deprecated ones', () => {
  const help = (platform: NodeJS.Platform) => {
    const line = parseDaemonCommandLine(['--help'], platform)
    return line.kind === 'help' ? line.text : ''
  }
  expect(help('linux')).toContain('--bind-address ip ')
  expect(help('linux')).not.toContain('--enable-dsr')
  expect(help('linux')).not.toContain('--healthz-port int32')
  expect(help('win32')).toContain('--enable-dsr')
})

test('a refusal comes with a short usage', () => {
  expect(parseDaemonCommandLine(['--nonsense'], 'linux')).toMatchObject({
    usage: expect.stringContaining('fairlead --help') as string,
  })
})

test('every flag has its value as text, for /flagz', () => {
  const { flagValues } = parsed(['--nodeport-addresses=10.0.0.0/8', '--feature-gates=B=false,A=true', '-v=3'])
  expect(flagValues.get('nodeport-addresses')).toBe('[10.0.0.0/8]')
  expect(flagValues.get('feature-gates')).toBe('A=true,B=false')
  expect(flagValues.get('v')).toBe('3')
  expect(flagValues.get('iptables-sync-period')).toBe('30s')
  expect(flagValues.get('version')).toBe('false')
  expect(flagValues.has('enable-dsr')).toBe(false)
})
