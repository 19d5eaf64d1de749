/** Commands of the installed package that print something and end. */
import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { root } from './testing/set-up.ts'
import { runFairlead } from './testing/windows-daemon.ts'
import { missingTools, windowsPath } from './testing/wine.ts'

const cluster = windowsPath(`${root}examples/manifests/cluster`)

describe.skipIf(missingTools !== undefined)(`on Windows${missingTools ?? ''}`, () => {
  test('--version is that of the package', async () => {
    const { version } = JSON.parse(await readFile(`${root}package.json`, 'utf8')) as { version: string }
    const { exitCode, stdout } = await runFairlead(['--version'])
    expect(stdout).toBe(`Kubernetes v1.36.4 (Fairlead ${version})\n`)
    expect(exitCode).toBe(0)
  })

  test('a mode of another system is refused with what to write instead', async () => {
    const { exitCode, stderr } = await runFairlead(['--proxy-mode=ipvs', `--objects=${cluster}`])
    expect(stderr).toMatch(/kernelspace/)
    expect(exitCode).toBe(1)
  })

  test('render prints the rules of a Linux node too', async () => {
    const { exitCode, stdout } = await runFairlead(['render', '--proxy-mode=nftables', `--objects=${cluster}`])
    expect(stdout).toContain('10.96.0.30')
    expect(exitCode).toBe(0)
  })

  test('render prints the documents of kernelspace without an HNS', async () => {
    const { exitCode, stdout } = await runFairlead(['render', '--proxy-mode=kernelspace', `--objects=${cluster}`])
    expect(stdout).toMatch(/"FrontendVIPs":\s*\[\s*"10\.96\.0\.30"/)
    expect(exitCode).toBe(0)
  })

  test('a folder that is not there is named as it was given', async () => {
    const { exitCode, stderr } = await runFairlead(['file', 'to-local', String.raw`--input=Z:\no\such folder`])
    expect(stderr).toContain(String.raw`--input=Z:\no\such folder cannot be read`)
    expect(exitCode).toBe(1)
  })
})
