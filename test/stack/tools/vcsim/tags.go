package main

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// withTags runs f with a REST session of the control API's own.
func (c *control) withTags(ctx context.Context, f func(*tags.Manager) error) error {
	client := soap.NewClient(c.server.URL, true)
	client.UserAgent = controlAgent
	session := rest.NewClient(&vim25.Client{Client: client})
	if err := session.Login(ctx, c.server.URL.User); err != nil {
		return fmt.Errorf("log in to the tag service: %w", err)
	}
	defer func() { _ = session.Logout(ctx) }()
	return f(tags.NewManager(session))
}

// ensureTag returns the urn of the tag, creating category and tag where they are missing.
func (c *control) ensureTag(ctx context.Context, category, name string) (urn string, err error) {
	if category == "" || name == "" {
		return "", fmt.Errorf("a tag needs a category and a name")
	}
	err = c.withTags(ctx, func(m *tags.Manager) error {
		categoryId, err := categoryOf(ctx, m, category)
		if err != nil {
			return err
		}
		existing, err := m.GetTagsForCategory(ctx, categoryId)
		if err != nil {
			return err
		}
		for _, tag := range existing {
			if tag.Name == name {
				urn = tag.ID
				return nil
			}
		}
		urn, err = m.CreateTag(ctx, &tags.Tag{Name: name, CategoryID: categoryId})
		return err
	})
	return urn, err
}

func categoryOf(ctx context.Context, m *tags.Manager, name string) (string, error) {
	categories, err := m.GetCategories(ctx)
	if err != nil {
		return "", err
	}
	for _, category := range categories {
		if category.Name == name {
			return category.ID, nil
		}
	}
	return m.CreateCategory(ctx, &tags.Category{Name: name, Cardinality: "MULTIPLE", AssociableTypes: []string{"VirtualMachine"}})
}

func (c *control) attachTag(ctx context.Context, urn, vm string) error {
	return c.withTags(ctx, func(m *tags.Manager) error { return m.AttachTag(ctx, urn, virtualMachine(vm)) })
}

func (c *control) attachedTags(ctx context.Context, vm string) (urns []string, err error) {
	err = c.withTags(ctx, func(m *tags.Manager) error {
		urns, err = m.ListAttachedTags(ctx, virtualMachine(vm))
		return err
	})
	return urns, err
}

func virtualMachine(ref string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: ref}
}
