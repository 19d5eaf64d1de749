import { expect, test } from 'vitest'
import { commandFor, linkTo, questionIn, suggestionsFor } from './question.ts'

const question = { target: 'service/web', from: 'pod', namespace: 'shop', port: 'http' }

test('a link says all of a question, and no more', () => {
  const link = linkTo(question)
  expect(link).toBe('/explain?target=service%2Fweb&from=pod&namespace=shop&port=http')
  expect(questionIn(new URL(link, 'http://localhost').searchParams)).toEqual(question)
  expect(linkTo({ ...question, from: '', namespace: '', port: '' })).toBe('/explain?target=service%2Fweb')
  expect(linkTo({ target: '' })).toBe('/explain')
})

test('the same question for a shell', () => {
  expect(commandFor(question)).toBe('fairlead explain service/web --from=pod -n shop --port=http')
  expect(commandFor({ target: '[fd00::a]:80/udp', from: '', namespace: '', port: '' })).toBe(
    "fairlead explain '[fd00::a]:80/udp'",
  )
  expect(commandFor({ target: 'node-port 30080', from: '', namespace: '', port: '' })).toBe(
    'fairlead explain node-port 30080',
  )
  expect(commandFor({ target: "a'; rm -rf /", from: '', namespace: '', port: '' })).toBe(
    String.raw`fairlead explain 'a'\'';' rm -rf /`,
  )
})

test('Services are suggested by any part of their name, the likely ones first', () => {
  const services = ['default/kubernetes', 'shop/cart', 'shop/web', 'web/front', 'x/my-web']
  expect(suggestionsFor('web', services)).toEqual(['service/shop/web', 'service/web/front', 'service/x/my-web'])
  expect(suggestionsFor('svc/shop/', services)).toEqual(['service/shop/cart', 'service/shop/web'])
  expect(suggestionsFor('', services, 2)).toHaveLength(2)
  expect(suggestionsFor('10.96.0.1:80', services)).toEqual([])
})
