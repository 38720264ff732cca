package push

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// errOverloaded is a purchase that was refused because its sale is behind.
var errOverloaded = errors.New("overloaded")

// client calls the API.
type client struct {
	base *url.URL
	http *http.Client
}

func newClient(base string) (*client, error) {
	parsed, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	return &client{base: parsed, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: buyers}}}, nil
}

// sale is what is needed of a sale.
type sale struct {
	ID       int64 `json:"saleId"`
	Revision int64 `json:"revision"`
}

// purchase is what is needed of a purchase.
type purchase struct {
	Status    string    `json:"status"`
	DecidedAt time.Time `json:"decidedAt"`
	Links     struct {
		Events string `json:"events"`
		WS     string `json:"ws"`
	} `json:"links"`
}

func (c *client) createSale(ctx context.Context) (created sale, err error) {
	err = c.post(ctx, "/sales", map[string]any{
		"name": "Push", "stock": 1_000_000, "closesAt": time.Now().Add(24 * time.Hour).UTC(), "paymentTimeout": "24h",
	}, &created)
	return created, err
}

func (c *client) addStock(ctx context.Context, saleID int64) (changed sale, err error) {
	err = c.post(ctx, fmt.Sprintf("/sales/%d/stock", saleID), map[string]any{"delta": 1}, &changed)
	return changed, err
}

func (c *client) buy(ctx context.Context, saleID int64, user string) (accepted purchase, err error) {
	err = c.post(ctx, fmt.Sprintf("/sales/%d/purchases", saleID), map[string]any{"userId": user}, &accepted)
	return accepted, err
}

func (c *client) post(ctx context.Context, path string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.JoinPath(path).String(), bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusServiceUnavailable {
		return fmt.Errorf("%s: %w", path, errOverloaded)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s: %s: %s", path, resp.Status, answer)
	}
	return json.Unmarshal(answer, into)
}

func (c *client) link(to string) (*url.URL, error) { return c.base.Parse(to) }

// recheckTotals reads from the metrics how many queries for all who wait there were,
// and how many seconds they took.
func (c *client) recheckTotals(ctx context.Context) (count, sum float64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.JoinPath("/metrics").String(), http.NoBody)
	if err != nil {
		return 0, 0, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	found := 0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		into := map[string]*float64{"seckill_recheck_seconds_count": &count, "seckill_recheck_seconds_sum": &sum}[name]
		if into == nil {
			continue
		}
		if *into, err = strconv.ParseFloat(value, 64); err != nil {
			return 0, 0, fmt.Errorf("/metrics: %w", err)
		}
		found++
	}
	if found != 2 {
		return 0, 0, errors.New("/metrics: no seckill_recheck_seconds")
	}
	return count, sum, nil
}
