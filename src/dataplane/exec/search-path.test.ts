import { expect, test } from 'vitest'
import { fileToRun, searchPath } from './search-path.ts'

test('the folders of system tools are searched last, each once', () => {
  const env = { PATH: '/opt/bin::/usr/bin' }
  expect(searchPath({ platform: 'linux', env })).toBe(
    '/opt/bin:/usr/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/bin',
  )
})

test('on Windows the folders of PATH have drives, and System32 is one of them', () => {
  const env = { PATH: 'C:\\Tools;D:\\More tools', SystemRoot: 'C:\\WINDOWS' }
  expect(searchPath({ platform: 'win32', env })).toBe('C:\\Tools;D:\\More tools;C:\\WINDOWS\\System32')
  expect(searchPath({ platform: 'win32', env: {} })).toBe('C:\\Windows\\System32')
})

test('on Windows a program is run from PATH, and never from the current folder', () => {
  const look = (file: string) => (file === 'C:\\Windows\\System32\\netsh.exe' ? 'file' : 'nothing')
  const path = 'C:\\Tools;C:\\Windows\\System32'
  expect(fileToRun('netsh', path, 'win32', look)).toBe('C:\\Windows\\System32\\netsh.exe')
  expect(fileToRun('netsh', 'C:\\Tools', 'win32', look)).toBeUndefined()
  expect(fileToRun('D:\\mine\\netsh.exe', path, 'win32', look)).toBe('D:\\mine\\netsh.exe')
})

test('elsewhere the system searches', () => {
  expect(fileToRun('nft', '', 'linux')).toBe('nft')
})
