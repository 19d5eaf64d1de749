import { describe, expect, test } from 'vitest'
import type { Look } from './find-program.ts'
import { findWindowsProgram, mergeWindowsVariables, windowsStart, windowsVariable } from './windows-program.ts'

const files = ['C:\\k\\login.exe', 'C:\\k\\login.cmd', 'D:\\tools\\aws.cmd', 'D:\\tools\\script.py', 'aws.exe']
const machine: Look = (path) => (files.includes(path) ? 'file' : 'nothing')

describe('a program is found', () => {
  test.each([
    ['with the ending that it lacks, a program before a batch file', 'C:\\k\\login', 'C:\\k\\login.exe'],
    ['as it is given', 'C:\\k\\login.cmd', 'C:\\k\\login.cmd'],
    ['in PATH', 'aws', 'D:\\tools\\aws.cmd'],
    ['although Windows will not know how to start it', 'script.py', 'D:\\tools\\script.py'],
  ])('%s', (_how, program, file) => {
    expect(findWindowsProgram(program, 'C:\\Windows;D:\\tools', machine)).toEqual({ kind: 'found', file })
  })

  test('in no current folder', () => {
    expect(findWindowsProgram('aws', ';.;C:\\Windows', machine)).toEqual({ kind: 'missing', hidden: [] })
  })
})

describe('a batch file', () => {
  const lineOf = (...args: readonly string[]) =>
    windowsStart('C:\\my tools\\a.CMD', args, { systemroot: 'D:\\Windows' })

  test('is started by the command interpreter, whatever is in its path', () => {
    expect(lineOf('get-token', '--region', 'north')).toEqual({
      file: 'D:\\Windows\\System32\\cmd.exe',
      args: ['/d', '/e:on', '/v:off', '/s', '/c', '""C:\\my tools\\a.CMD" get-token --region north"'],
      windowsVerbatimArguments: true,
    })
  })

  test.each([
    ['', '""'],
    ['a b', '"a b"'],
    ['--name=x', '"--name=x"'],
    ['a&calc', '"a&calc"'],
    ['a"&calc', '"a""&calc"'],
    ['a\\"b', '"a\\\\""b"'],
    ['C:\\k\\', '"C:\\k\\\\"'],
    ['%PATH%', '"%%cd:~,%PATH%%cd:~,%"'],
  ])('gets %j as one argument', (arg, shown) => {
    expect(lineOf(arg).args.at(-1)).toBe(`""C:\\my tools\\a.CMD" ${shown}"`)
  })

  test('gets no second line, which would be a command of its own', () => {
    expect(() => lineOf('a\r\ncalc')).toThrow('a batch file cannot take an argument with a line break')
  })
})

test('any other program gets its arguments as they are', () => {
  expect(windowsStart('C:\\k\\login.exe', ['a b'], {})).toEqual({
    file: 'C:\\k\\login.exe',
    args: ['a b'],
    windowsVerbatimArguments: false,
  })
})

test('variables are the same in upper and lower case', () => {
  expect(windowsVariable({ Path: 'C:\\Windows' }, 'PATH')).toBe('C:\\Windows')
  expect(mergeWindowsVariables({ Path: 'a', HTTPS_PROXY: 'b', TEMP: 'c' }, { PATH: 'd', https_proxy: 'e' })).toEqual({
    TEMP: 'c',
    PATH: 'd',
    https_proxy: 'e',
  })
})
