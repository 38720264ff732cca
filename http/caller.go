package http

import (
	"errors"

	"github.com/danielgtaylor/huma/v2"

	"seckill/domain"
)

// queriedUser checks who a list is asked for.
func queriedUser(userID string) error {
	if userID == "" {
		return problem("user_required")
	}
	if invalid, ok := errors.AsType[*domain.InvalidError](domain.CheckUserID(userID)); ok {
		return problem("invalid_request", &huma.ErrorDetail{Location: "query.userId", Message: invalid.Detail})
	}
	return nil
}
