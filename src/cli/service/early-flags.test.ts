import { expect, test } from 'vitest'
import { readEarlyFlags } from './early-flags.ts'

const windows = { platform: 'win32', env: { ProgramData: 'D:\\Data' } } as const
const linux = { platform: 'linux', env: {} } as const
const megabyte = 1024 * 1024

test('without these flags there is neither a service nor a log file', () => {
  expect(readEarlyFlags(['--proxy-mode=kernelspace', '-v', '2'], windows)).toEqual({
    isService: false,
    logFile: undefined,
  })
})

test.each([
  [['--windows-service'], 'D:\\Data\\fairlead\\logs\\fairlead.log'],
  [['--config', 'c.yaml', '--windows_service=T'], 'D:\\Data\\fairlead\\logs\\fairlead.log'],
  [['kube', 'to-api', '--windows-service'], 'D:\\Data\\fairlead\\logs\\fairlead-kube-to-api.log'],
  [['api', '--windows-service', 'to-winkernel'], 'D:\\Data\\fairlead\\logs\\fairlead-api-to-winkernel.log'],
])('a service without a log file has one of its own: %j', (argv, path) => {
  expect(readEarlyFlags(argv, windows)).toEqual({ isService: true, logFile: { path, maxBytes: 50 * megabyte } })
})

test('a named log file is used, on every system', () => {
  const argv = ['--log-file=/var/log/fairlead.log', '--log-file-max-size', '2Mi']
  const logFile = { path: '/var/log/fairlead.log', maxBytes: 2 * megabyte }
  expect(readEarlyFlags(argv, linux)).toEqual({ isService: false, logFile })
  expect(readEarlyFlags([...argv, '--windows-service'], windows)).toEqual({ isService: true, logFile })
})

test.each([
  ['the flag is turned off', ['--windows-service=false']],
  ['it is an argument of another program', ['api', 'to-exec', '--', 'backend', '--windows-service']],
  ['its value makes no sense, which the command will say', ['--windows-service=maybe']],
])('there is no service if %s', (_, argv) => {
  expect(readEarlyFlags(argv, windows).isService).toBe(false)
})

test('a bad size does not hide that this is a service: what is wrong goes to its log', () => {
  expect(readEarlyFlags(['--windows-service', '--log-file-max-size=big'], windows).isService).toBe(true)
})

test('only Windows has services', () => {
  expect(readEarlyFlags(['--windows-service'], linux).isService).toBe(false)
})

test('a log file of next to no size is refused', () => {
  expect(() => readEarlyFlags(['--log-file=x', '--log-file-max-size=0'], linux)).toThrow(/at least 1Ki/)
})
