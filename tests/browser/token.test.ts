/** A console with a token, in a browser. */
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TemporaryFolder } from '../../src/sources/kube/testing/temporary-folder.ts'
import { launchChromium, unlessChromium, whyNoChromium } from './testing/chromium.ts'
import { ForeignSite, resolverRules } from './testing/foreign-site.ts'
import { RecordingProxy } from './testing/recording-proxy.ts'
import { Shop } from './testing/shop.ts'
import { WatchedPage } from './testing/watched-page.ts'

const token = 'a-token-that-nobody-can-guess'

describe.skipIf(whyNoChromium !== undefined)(`a console with a token${unlessChromium}`, () => {
  let browser: Browser
  let folder: TemporaryFolder
  let shop: Shop

  beforeAll(async () => {
    folder = await TemporaryFolder.make()
    const file = await folder.write('token', `${token}\n`)
    ;[browser, shop] = await Promise.all([
      launchChromium({ args: [resolverRules] }),
      Shop.open(`--console-token-file=${file}`),
    ])
  })

  afterAll(async () => {
    await browser?.close()
    await shop?.[Symbol.asyncDispose]()
    await folder?.[Symbol.asyncDispose]()
  })

  test('asks for it at the page that was wanted, says what is wrong with it, and lets the right one in', async () => {
    await using watched = await WatchedPage.open(browser, `${shop.url}/services`)
    const { page } = watched
    const field = page.getByLabel('Token')
    await field.fill('wrong')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('token').waitFor()
    expect(await page.getByRole('link', { name: 'empty' }).count()).toBe(0)
    await field.fill(token)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('link', { name: 'empty' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/services')

    const [cookie, ...others] = await page.context().cookies()
    expect(others).toEqual([])
    expect(cookie).toMatchObject({ name: 'fairlead-console', httpOnly: true, sameSite: 'Strict', path: '/' })
    expect(cookie?.value).not.toContain(token)
    expect(await page.evaluate(() => document.cookie)).toBe('')
    await page.reload()
    await page.getByRole('link', { name: 'empty' }).waitFor()
  })

  test('tells nothing before, neither to the page nor to those who ask for its data', async () => {
    await using watched = await WatchedPage.open(browser, shop.url)
    const { page } = watched
    await page.getByLabel('Token').waitFor()
    for (const path of ['/debug/view', '/debug/rules', '/api/live?topic=overview']) {
      const answer = await page.request.get(shop.url + path)
      expect([path, answer.status()]).toEqual([path, 401])
    }
    expect(await page.content()).not.toContain('node1')
  })

  test('a reader who is logged in lends nothing to a page from elsewhere', async () => {
    await using foreign = await ForeignSite.start()
    await using front = await RecordingProxy.start(shop.url)
    await using watched = await WatchedPage.open(browser, front.url)
    const { page } = watched
    await page.getByLabel('Token').fill(token)
    await page.keyboard.press('Enter')
    await watched.isLive()
    await page.goto(foreign.url)
    const read = await page.evaluate(
      (asked) =>
        fetch(asked, { credentials: 'include' }).then(
          () => 'read',
          () => 'refused',
        ),
      `${front.url}/debug/view`,
    )
    expect(read).toBe('refused')
    expect(await front.answersFor('/debug/view')).toEqual([403])
  })
})
