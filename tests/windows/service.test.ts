/** `--windows-service`, with the service control manager of Wine. */
import { get } from 'node:http'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../src/cli/demo/free-port.ts'
import { runOnWindows } from './testing/windows-process.ts'
import { WindowsService } from './testing/windows-service.ts'
import { missingTools, windowsPath } from './testing/wine.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
/** Controls that are answered with the state as it is. */
const [interrogate, parametersChanged] = [4, 6] as const
const objects = windowsPath(`${root}examples/manifests/cluster`)

describe.skipIf(missingTools !== undefined)(`--windows-service${missingTools ?? ''}`, { timeout: 180_000 }, () => {
  test('the daemon starts as a service, serves, and ends in order when it is stopped', async () => {
    const [healthz, metrics] = [await freePort('127.0.0.1'), await freePort('127.0.0.1')]
    await using service = await WindowsService.create('fairlead-daemon', [
      '--proxy-mode=userspace',
      `--objects=${objects}`,
      '--node-address=127.0.0.1',
      `--healthz-bind-address=127.0.0.1:${healthz}`,
      `--metrics-bind-address=127.0.0.1:${metrics}`,
    ])
    expect(await service.start()).toBe(true)
    await expect.poll(() => service.query(), { timeout: 90_000 }).toMatchObject({ state: 'RUNNING' })
    await expect.poll(() => statusOf(`http://127.0.0.1:${healthz}/livez`), { timeout: 90_000 }).toBe(200)
    const [stop, shutdown, paramChange, preshutdown] = [0x1, 0x4, 0x8, 0x100]
    for (const question of [interrogate, parametersChanged])
      expect(await service.control(question)).toMatchObject({
        state: 4,
        acceptedControls: stop | shutdown | paramChange | preshutdown,
      })
    await service.stop()
    await expect
      .poll(() => service.query(), { timeout: 90_000 })
      .toEqual({
        state: 'STOPPED',
        win32ExitCode: 0,
        serviceExitCode: 0,
      })
    const messages = [...(await service.log()).matchAll(/\] "([^"]+)"/g)].map(([, message]) => message)
    expect(messages.slice(0, 2)).toEqual(['started by the service control manager', 'starting Fairlead'])
    // A listener may still come up while the end begins.
    const ending = ['asked to stop', 'stopped', 'the service has stopped']
    expect(messages.filter((message = '') => ending.includes(message))).toEqual(ending)
  })

  test('a core is a service that runs once its pipe can be followed', async () => {
    const pipe = 'npipe:////./pipe/fairlead-service-test'
    await using service = await WindowsService.create('fairlead-core', [
      'file',
      'to-api',
      `--input=${objects}`,
      `--listen=${pipe}`,
    ])
    await service.start()
    await expect.poll(() => service.query(), { timeout: 90_000 }).toMatchObject({ state: 'RUNNING' })
    const { stdout } = await runOnWindows(`${root}bin/fairlead.js`, {
      args: ['api', 'to-local', '--once', '--node-name=node-a', `--api=${pipe}`],
    })
    expect(stdout).toContain('+ default/web ')
    await service.stop()
    await expect
      .poll(() => service.query(), { timeout: 90_000 })
      .toMatchObject({ state: 'STOPPED', serviceExitCode: 0 })
  })

  test('a start that fails is a failed service, with the sentence in its log', async () => {
    await using service = await WindowsService.create('fairlead-failing', [
      '--proxy-mode=userspace',
      '--objects=Z:\\absent',
    ])
    await service.start()
    await expect
      .poll(() => service.query(), { timeout: 90_000 })
      .toEqual({
        state: 'STOPPED',
        win32ExitCode: 1066,
        serviceExitCode: 1,
      })
    expect(await service.log()).toContain('--objects=Z:\\\\absent cannot be read')
  })

  test('a command line that makes no sense is told in the log as well', async () => {
    await using service = await WindowsService.create('fairlead-confused', ['--proxy-mod=userspace'])
    await service.start()
    await expect
      .poll(() => service.query(), { timeout: 90_000 })
      .toMatchObject({ state: 'STOPPED', serviceExitCode: 1 })
    expect(await service.log()).toContain('unknown flag: --proxy-mod, did you mean --proxy-mode?')
  })

  test('without a place for the log, the exit code says so', async () => {
    await using service = await WindowsService.create('fairlead-mute', ['--log-file=Q:\\no-such-drive\\fairlead.log'])
    await service.start()
    await expect
      .poll(() => service.query(), { timeout: 90_000 })
      .toMatchObject({ state: 'STOPPED', serviceExitCode: 2 })
  })

  test('started by hand, --windows-service says to leave it out', async () => {
    const { exitCode, stderr } = await runOnWindows(`${root}bin/fairlead.js`, { args: ['--windows-service'] })
    expect(stderr).toMatch(
      /^Error: --windows-service is for a process that Windows starts as a service.*Leave the flag out\n$/,
    )
    expect(exitCode).toBe(1)
  })
})

function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    get(url, { agent: false }, (response) => resolve(response.resume().statusCode)).on('error', () =>
      resolve(undefined),
    )
  })
}
